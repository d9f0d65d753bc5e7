// Package hostile sends hostile clients to a server: floods, slow readers and
// writers, half-open connections, malformed input, forged tokens, guessed codes, bots
// that cheat. At the same time honest players play, read and arrive.
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
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/report"
)

// Config configures a run. All fields but Log are needed.
type Config struct {
	Server *testenv.Node
	Kinds  []string // of attackers: each alone, then all together
	Attack func(context.Context, attack.Order) (attack.Counts, error)

	Duellists, Seats, Readers, Watchers int // honest players; the seats are those of an arena

	Quiet, Each, All time.Duration // of the phases without attackers, of each kind (0: no kind runs alone), of all kinds together
	Slow             time.Duration // of kinds whose effect shows after seconds
	SlowTimeout      time.Duration // how much longer slow clients may continue
	RecoveryTimeout  time.Duration // the time that the server has to recover
	MoreMB           int64         // memory that it may then use beyond the first phase
	PerSecond        float64       // actions a second of the attackers
	Sockets          int           // connections of a kind
	Addresses        int           // that attackers come from
	Limits           attack.Limits // what the server grants an address

	Log func(format string, args ...any)
}

// defaultLimits are the server's defaults.
var defaultLimits = attack.Limits{Guests: 60, Lookups: 600, Codes: 150}

// options are the flags of the program.
type options struct {
	Config
	binary, database, kinds, json string
	floorMS                       float64
	mostMB                        int64
}

// Command registers the flags of the program and returns the function that runs it.
func Command(flags *flag.FlagSet) func(context.Context) error {
	o := options{Config: Config{Limits: defaultLimits, Attack: runAttackers}}
	flags.StringVar(&o.binary, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&o.database, "database", "", "URL of the server's database, empty; none: a file")
	flags.StringVar(&o.kinds, "kinds", "", "kinds of attackers, separated by commas; none: "+strings.Join(attack.Kinds(), ","))
	flags.StringVar(&o.json, "json", "", "file for the report as JSON")
	flags.IntVar(&o.Duellists, "duelists", 40, "honest players of duels, an even number")
	flags.IntVar(&o.Seats, "seats", 20, "honest players in an arena")
	flags.IntVar(&o.Readers, "readers", 10, "honest readers of leaderboards")
	flags.IntVar(&o.Watchers, "watchers", 10, "honest watchers of leaderboards")
	flags.DurationVar(&o.Quiet, "idle", 15*time.Second, "time measured without attackers, before and after")
	flags.DurationVar(&o.Each, "each", 8*time.Second, "time of each kind")
	flags.DurationVar(&o.All, "all", 20*time.Second, "time of all kinds together")
	flags.DurationVar(&o.Slow, "slow", 20*time.Second, "time of kinds whose effect shows after seconds")
	flags.DurationVar(&o.SlowTimeout, "slow-timeout", 40*time.Second, "extra time for slow clients")
	flags.DurationVar(&o.RecoveryTimeout, "return", 30*time.Second, "time until the server must be back to normal")
	flags.Int64Var(&o.MoreMB, "more-mb", 64, "memory that it may then use beyond the first phase")
	flags.Float64Var(&o.PerSecond, "rate", 400, "actions a second of the attackers; twice that of all kinds together")
	flags.IntVar(&o.Sockets, "sockets", 200, "connections of each kind")
	flags.IntVar(&o.Addresses, "sources", 4, "addresses that attackers come from")
	flags.Float64Var(&o.floorMS, "floor", 15, "p99 in ms that is accepted in any case, because machines are noisy")
	flags.Int64Var(&o.mostMB, "most-mb", 512, "memory that the server may have in use")
	return o.run
}

var errFailed = errors.New("the server did not withstand the attacks")

func (o *options) run(ctx context.Context) error {
	o.Kinds = attack.Kinds()
	if o.kinds != "" {
		o.Kinds = strings.Split(o.kinds, ",")
	}
	for _, kind := range o.Kinds {
		if !slices.Contains(attack.Kinds(), kind) {
			return fmt.Errorf("there is no kind %q of attackers; use some of %v", kind, attack.Kinds())
		}
	}
	binary, err := testenv.BuildServer(ctx, o.binary)
	if err != nil {
		return err
	}
	redis, err := testenv.StartRedis()
	if err != nil {
		return err
	}
	o.Server, err = testenv.StartNode(ctx, testenv.NodeOptions{
		Binary: binary, Redis: redis.URL, Database: o.database, Settings: attack.Settings("{gc_headroom_mib: 64}"), Files: attack.Files(),
	})
	if err != nil {
		return err
	}
	fmt.Printf("machine: %s; attackers run by %s\n", report.Machine(), strings.Join(idlePriority, " "))
	o.Log = func(format string, args ...any) {
		fmt.Println(time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
	}
	r, err := Run(ctx, o.Config)
	if err != nil {
		return err
	}
	slow := r.Slow(o.floorMS, o.mostMB)
	fmt.Print(r)
	for _, line := range slow {
		fmt.Println("SLOW      " + line)
	}
	if len(r.Violations)+len(slow) > 0 {
		err = errFailed
	}
	return errors.Join(err, report.WriteJSON(o.json, r))
}
