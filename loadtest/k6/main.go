// Command k6 runs the k6 scripts of this folder against a server that it starts.
// README.md lists the scripts and their settings.
//
//	go install go.k6.io/k6@v1.8.1                        # once
//	go run ./loadtest/k6 short                           # as CI does
//	go run ./loadtest/k6 soak VUS=20 DURATION=20m
//	go run ./loadtest/k6 -game '{duel: {reveal_ms: 200}}' duel VUS=50
//
// It exits with an error if the server broke a rule, or was slower than the script
// allows. The script short also demands that k6 checked every rule. Then it runs
// again through a proxy that breaks each rule: k6 must find every breach. All load
// goes to loopback.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"laststand/loadtest/harness"
)

//go:embed *.js lib/*.js
var scripts embed.FS

type options struct {
	k6, server, game string
	within           time.Duration
	script           string
	env              []string // NAME=VALUE for the script
}

// usual configures the game of all runs except the short run and a spike.
const usual = "{duel: {bot_after_ms: 0, pair_limit_per_day: 0}}"

// quick configures the game of the short run and a spike: matches of some two seconds.
const quick = "{duel: {questions: 3, time_limit_ms: 5000, countdown_ms: 100, reveal_ms: 100, bot_after_ms: 0, pair_limit_per_day: 0}, " +
	"arena: {time_limit_ms: 5000, countdown_ms: 200, reveal_ms: 100}}"

// bearing is the server configuration. It removes the limits per address, per arena, per
// host and per player, since all players of k6 share one address. Other limits keep their
// defaults.
const bearing = `games: {demo: %s, %s}}
limits: {guests_per_minute_per_address: 0, nickname_lookups_per_minute_per_address: 0, reads_per_second_per_address: 0, arena_guests_per_minute_per_address: 0,
  guests_per_minute_per_arena: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, connections_per_address: 0, hellos_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`

func main() {
	var o options
	flag.StringVar(&o.k6, "k6", "k6", "the k6 to run")
	flag.StringVar(&o.server, "server", "", "start this binary instead of this tree")
	flag.StringVar(&o.game, "game", usual, "settings of the game demo, as YAML in braces")
	flag.DurationVar(&o.within, "within", 24*time.Hour, "after which the run has failed, and is ended")
	flag.Parse()
	if o.script, o.env = flag.Arg(0), flag.Args(); o.script == "" {
		fmt.Fprintln(os.Stderr, "k6: name a script of loadtest/k6, such as duel")
		os.Exit(2)
	}
	o.env = o.env[1:]
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "k6:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()
	defer func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errors.Join(fmt.Errorf("%s did not end within %v", o.script, o.within), err)
		}
	}()
	dir, err := os.MkdirTemp("", "laststand-k6-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, scripts); err != nil {
		return err
	}
	short := o.script == "short"
	if short {
		o.game = quick
		o.env = append([]string{"VUS=2", "DURATION=5s", "THINK=100", "P99=0", "TWICE=0.5", "RESUMES=0.3"}, o.env...)
	}
	if o.script == "spike" && o.game == usual { // matches start and end before, during and after the spike
		o.game = quick
	}
	server, done, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	k := k6{binary: o.k6, script: filepath.Join(dir, o.script+".js"), env: append(o.env, "KEY_FILE="+server.KeyFile(), "KEY_ID="+harness.KeyID)}
	err = k.runUnmodified(ctx, server.URL, server.Ops, short)
	if err == nil && short {
		err = k.lied(ctx, server.URL, server.Ops)
	}
	if log := server.Log(); strings.Contains(log, "DATA RACE") {
		err = errors.Join(err, fmt.Errorf("the server has a race:\n%s", log))
	}
	return err
}

// start starts the server. It builds the server first if no binary was given.
func start(ctx context.Context, o options) (s *harness.Server, done func(), err error) {
	binary, removed, err := harness.Build(ctx, o.server)
	if err != nil {
		return nil, nil, err
	}
	settings := harness.Options{Binary: binary, Game: o.game}
	if o.script == "spike" {
		settings.Settings = fmt.Sprintf(bearing, strings.TrimSuffix(strings.TrimSpace(o.game), "}"), harness.KeysYAML)
	}
	s, err = harness.Start(ctx, settings)
	if err != nil {
		removed()
		return nil, nil, err
	}
	return s, func() { s.Stop(); removed() }, nil
}
