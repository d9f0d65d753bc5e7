package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"laststand/internal/testenv"
)

// k6Options are the flags and the arguments of k6Command.
type k6Options struct {
	k6, server  string
	timeout     time.Duration
	script      string
	environment []string // NAME=VALUE for the script
}

// defaultGame configures the game of all scripts except short and spike.
const defaultGame = "{duel: {bot_after_ms: 0, pair_limit_per_day: 0}}"

// shortGame configures the game of the scripts short and spike: matches of about two seconds.
const shortGame = "{duel: {questions: 3, time_limit_ms: 5000, countdown_ms: 100, reveal_ms: 100, bot_after_ms: 0, pair_limit_per_day: 0}, " +
	"arena: {time_limit_ms: 5000, countdown_ms: 200, reveal_ms: 100}}"

// spikeSettings is the configuration for the script spike. It removes the limits per
// address, per arena, per host and per player, because all players of k6 share one address.
// Other limits keep their defaults.
const spikeSettings = `games: {demo: %s, %s}}
limits: {guests_per_minute_per_address: 0, nickname_lookups_per_minute_per_address: 0, reads_per_second_per_address: 0, arena_guests_per_minute_per_address: 0,
  guests_per_minute_per_arena: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, connections_per_address: 0, hellos_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`

// k6Command runs a k6 script against a server that it starts, in the root of the repository.
// loadtest/k6/README.md lists the scripts and their settings.
//
//	go install go.k6.io/k6@v1.8.1                        # once
//	go run ./loadtest k6 short                           # as CI does
//	go run ./loadtest k6 soak VUS=20 DURATION=20m
//
// It fails if the server broke a rule, or was slower than the script allows. The script
// short also demands that k6 checked every rule. Then it runs again, and what k6 receives
// breaks each rule: k6 must find every breach.
func k6Command(flags *flag.FlagSet) func(context.Context) error {
	var o k6Options
	flags.StringVar(&o.k6, "k6", "k6", "`path` of k6")
	flags.StringVar(&o.server, "server", "", "start this `binary` instead of this tree")
	flags.DurationVar(&o.timeout, "within", 24*time.Hour, "end the run after this time; it has then failed")
	return func(ctx context.Context) error {
		if flags.NArg() == 0 {
			return errors.New("no script is named; use a script of loadtest/k6, such as duel")
		}
		o.script, o.environment = flags.Arg(0), flags.Args()[1:]
		ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%s did not end within %v", o.script, o.timeout))
		defer cancel()
		err := o.run(ctx)
		return errors.Join(context.Cause(ctx), err)
	}
}

func (o k6Options) run(ctx context.Context) (err error) {
	binary, err := testenv.BuildServer(ctx, o.server)
	if err != nil {
		return err
	}
	options, isShort := testenv.NodeOptions{Binary: binary, Game: defaultGame}, o.script == "short"
	switch o.script {
	case "short":
		options.Game = shortGame
		o.environment = append([]string{"VUS=2", "DURATION=5s", "THINK=100", "P99=0", "TWICE=0.5", "RESUMES=0.3"}, o.environment...)
	case "spike": // matches start and end before, during and after the spike
		options.Settings = fmt.Sprintf(spikeSettings, strings.TrimSuffix(shortGame, "}"), testenv.KeysYAML)
	}
	node, err := testenv.StartNode(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _, stopped := node.Stop(); err = errors.Join(err, stopped) }()
	k := script{
		k6: o.k6, path: filepath.Join("loadtest", "k6", o.script+".js"), export: filepath.Join(node.Dir, "summary.json"),
		environment: append(o.environment, "KEY_FILE="+node.KeyFile(), "KEY_ID="+testenv.KeyID),
	}
	err = k.runUnmodified(ctx, node.URL, node.OpsURL, isShort)
	if err == nil && isShort {
		err = k.runWithFaults(ctx, node.URL, node.OpsURL)
	}
	if log := node.Log(); strings.Contains(log, "DATA RACE") {
		err = errors.Join(err, fmt.Errorf("the server has a race:\n%s", log))
	}
	return err
}
