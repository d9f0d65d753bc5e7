// Package hostile sends hostile clients to a server: floods, slow readers and
// writers, half-open connections, malformed input, forged tokens, guessed codes, bots
// that cheat. At the same time honest players play, read and reconnect.
// docs/PERFORMANCE.md has the current figures.
//
//	go run ./loadtest stress hostile                          # redis-server and SQLite, default limits
//	go run ./loadtest stress hostile -database postgres://…   # an empty PostgreSQL
//	go run ./loadtest stress hostile -kinds tokens,bots -each 20s -json report.json
//
// The program starts the server, a redis-server, and the attackers as separate
// processes. All use loopback and end with the program. The attackers share the
// machine with the server: -rate and -sockets bound them, and they run at idle
// priority. So the figures show the server and not a lack of processors.
//
// The program exits with status 1 in these cases:
//
//   - An honest player was closed, got a wrong reply or no reply, or waited more than
//     twice as long as without attackers.
//   - The server accepted a forged token, an early answer or a second answer, or an
//     attacker found a code.
//   - A reply was 5xx, except a deliberate 503.
//   - The server panicked, grew beyond -most-mb, did not recover, or did not count a
//     refusal.
package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/hostile/attacker"
)

type options struct {
	attacker.Config
	server, database, kinds, report string
	sources                         int
	floorMS                         float64
	mostMB                          int64
}

// Command registers the flags of the program and returns the function that runs it.
func Command(flags *flag.FlagSet) func(context.Context) error {
	var o options
	flags.StringVar(&o.server, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&o.database, "database", "", "of the server, empty; none: a file")
	flags.StringVar(&o.kinds, "kinds", "", "of attackers, separated by commas; none: "+strings.Join(attack.Kinds(), ","))
	flags.StringVar(&o.report, "json", "", "file for the report as JSON")
	flags.IntVar(&o.Control.Duelists, "duelists", 40, "control players of duels, an even number")
	flags.IntVar(&o.Control.Seats, "seats", 20, "control players in an arena")
	flags.IntVar(&o.Control.Readers, "readers", 10, "control readers of boards")
	flags.IntVar(&o.Control.Watchers, "watchers", 10, "control watchers of boards")
	flags.DurationVar(&o.Idle, "idle", 15*time.Second, "measured before and after")
	flags.DurationVar(&o.Each, "each", 8*time.Second, "of each kind")
	flags.DurationVar(&o.All, "all", 20*time.Second, "of all kinds at once")
	flags.DurationVar(&o.Slow, "slow", 20*time.Second, "of kinds that show after seconds")
	flags.DurationVar(&o.SlowExtra, "slow-timeout", 40*time.Second, "extra time for slow clients")
	flags.DurationVar(&o.Return, "return", 30*time.Second, "time until the server must be back to normal")
	flags.Int64Var(&o.MoreMB, "more-mb", 64, "memory that it may then use beyond the idle phase")
	flags.Float64Var(&o.PerSecond, "rate", 400, "what attackers do a second, twice that all at once")
	flags.IntVar(&o.Sockets, "sockets", 200, "connections of each kind")
	flags.IntVar(&o.sources, "sources", 4, "addresses that attackers come from")
	flags.Float64Var(&o.floorMS, "floor", 15, "ms that any p99 may be, since machines are noisy")
	flags.Int64Var(&o.mostMB, "most-mb", 512, "memory that the server may have in use")
	return func(ctx context.Context) error { return run(ctx, o) }
}

var errUntrue = errors.New("the server did not hold")

func run(ctx context.Context, o options) (err error) {
	var wanted []string
	if o.kinds != "" {
		wanted = strings.Split(o.kinds, ",")
	}
	if o.Kinds, err = attacker.Chosen(wanted); err != nil {
		return err
	}
	if o.server, err = testenv.BuildServer(ctx, o.server); err != nil {
		return err
	}
	redis, err := testenv.StartRedis()
	if err != nil {
		return err
	}
	o.Server, err = testenv.StartNode(ctx, testenv.NodeOptions{Binary: o.server, Redis: redis.URL, Database: o.database, Settings: attacker.Settings("{}"), Files: attack.Files()})
	if err != nil {
		return err
	}
	if o.Admin, err = o.Server.AdminToken(ctx); err != nil {
		return err
	}
	o.Control.URL, o.Sources, o.Bounds, o.Attack = o.Server.URL, attacker.Sources(o.sources), bounds, send
	fmt.Printf("machine: %d cores, %s, %s; server, Redis, honest players and attackers (%s) share it\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), strings.Join(idly, " "))
	o.Log = func(line string) { fmt.Println(time.Now().Format(time.TimeOnly), line) }
	report, err := attacker.Run(ctx, o.Config)
	if err != nil {
		return err
	}
	return o.printReport(report)
}

// bounds are the server's defaults.
var bounds = attack.Bounds{Guests: 60, Lookups: 600, Codes: 150}

func (o options) printReport(report attacker.Report) error {
	slow := report.Slow(o.floorMS, o.mostMB)
	fmt.Print(report)
	for _, line := range slow {
		fmt.Println("SLOW    " + line)
	}
	if o.report != "" {
		raw, err := json.MarshalIndent(report, "", "\t")
		if err == nil {
			err = os.WriteFile(o.report, raw, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if len(report.Violations)+len(slow) > 0 {
		return errUntrue
	}
	return nil
}
