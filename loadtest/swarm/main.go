// Package swarm plays on many nodes with many players, in any mix and from many
// processes. While it loads the nodes, it checks everything that the players receive,
// and everything that is stored at the end, against the wire contract.
//
//	go run ./loadtest stress swarm                                     # 1,950 connections, 400 of them play
//	go run ./loadtest stress swarm -idle 80000 -duels 6000 -buzzer 7000 -survival 7000 -rate 300 -questions 3 -ramp 300 -for 1m -html swarm.html
//	go run ./loadtest stress swarm -spike                              # three times the sustainable load
//	go run ./loadtest stress swarm -soak 20m -html soak.html           # memory and goroutines must not grow
//	go run ./loadtest stress swarm -attach http://127.0.0.1:8080       # a running server, with guests
//
// The program builds the server and starts a redis-server. It starts a PostgreSQL if
// there are several nodes or -database asks for it. It starts as many nodes and player
// processes as the limit of open files needs. Players use many loopback addresses.
// Everything ends with this program, however it ends.
//
// The program exits with status 1 in these cases:
//
//   - A push is missing, doubled, or not the same for all players of a match.
//   - A second answer is accepted.
//   - Points, sums or standings do not follow from the answers by the rules.
//   - A buzzer question has no first right answer or several, or the first player is not
//     the one that was announced.
//   - A leaderboard or a profile is not the sum of the matches.
//   - A behaviour was offered but is not sent, dropped, queued or in flight.
//   - In a spike: no client was turned away, a refusal had no clear code, the p99 of
//     admitted players was over twice the earlier p99 and over -slack, or that lasted for
//     over 10 s.
//   - In a soak: memory or goroutines grow.
package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/swarm/clients"
	"laststand/loadtest/swarm/runner"
)

// Names of the subprocesses; see testenv.StartSubprocess.
const (
	ClientsProcess = "swarm-clients"
	GuardProcess   = "swarm-guard"
)

// Command registers the flags of the program and returns the function that runs it.
func Command(flags *flag.FlagSet) func(context.Context) error {
	o := options{set: flags}
	o.flags(flags)
	return o.run
}

// Clients runs the clients of a process; see runner.Config.Launch.
func Clients(*flag.FlagSet) func(context.Context) error {
	return func(ctx context.Context) error {
		clients.CollectRarely()
		return clients.RunProcess(ctx, os.Stdin, os.Stdout)
	}
}

// Guard runs the guard of a swarm; see runner.Guard.
func Guard(*flag.FlagSet) func(context.Context) error {
	return func(context.Context) error {
		runner.Guard(os.Stdin)
		return nil
	}
}

type options struct {
	runner.Config
	set                     *flag.FlagSet
	attach, ops, json, html string
	soak                    time.Duration
}

func (o *options) flags(flags *flag.FlagSet) {
	flags.IntVar(&o.Idle, "idle", 1500, "sessions that do nothing")
	flags.IntVar(&o.Watchers, "watchers", 50, "sessions that watch a board")
	flags.IntVar(&o.Duellists, "duels", 200, "players of duels, an even number")
	flags.IntVar(&o.Buzzer, "buzzer", 100, "players of buzzer arenas")
	flags.IntVar(&o.Survival, "survival", 100, "players of survival arenas")
	flags.IntVar(&o.Seats, "seats", 50, "players of an arena; beyond 50 each is told their own")
	flags.IntVar(&o.Questions, "questions", 10, "of a match")
	flags.IntVar(&o.Readers, "readers", 20, "readers of boards over HTTP, each one a second")
	flags.Float64Var(&o.Behaviours, "behaviours", 500, "posted a second")
	flags.DurationVar(&o.Think, "think", 2*time.Second, "players answer at some instant within")
	flags.DurationVar(&o.Reveal, "reveal", 1500*time.Millisecond, "pause after a question")
	flags.Float64Var(&o.Rate, "rate", 0, "answers/s that all players come to, instead of -think and -reveal; of a spike, a third of what it offers: found if 0")
	flags.Float64Var(&o.Ramp, "ramp", 500, "connections begun a second")
	flags.DurationVar(&o.For, "for", 30*time.Second, "of the load, once all are connected; of a spike, the spike alone")
	flags.BoolVar(&o.Spike, "spike", false, "offer three times the sustainable load, of duels")
	flags.DurationVar(&o.Bound, "bound", 100*time.Millisecond, "p99 of answers up to which a load is sustainable")
	flags.DurationVar(&o.Step, "step", 8*time.Second, "for which each load is tried before a spike")
	flags.DurationVar(&o.Slack, "slack", 25*time.Millisecond, "p99 that is well in any case, since machines are noisy")
	flags.DurationVar(&o.soak, "soak", 0, "load for so long, and say whether memory and goroutines stay as they are")
	flags.IntVar(&o.LagMS, "lag", 0, "setting max_scheduler_lag_ms of the nodes, from which on they turn readers away, newcomers from four times that, and further duels from a 64th; 0: never for that; -1, as for a spike: their own default")
	flags.StringVar(&o.attach, "attach", "", "addresses of nodes that run, separated by commas, instead of starting some; arenas do not count there, lift their limits for guests")
	flags.StringVar(&o.ops, "ops", "", "with -attach: addresses of their operations, for memory and goroutines")
	flags.IntVar(&o.Nodes, "nodes", 0, "servers; 0: as many as the connections need")
	flags.IntVar(&o.Processes, "processes", 0, "of players; 0: as many as the connections need")
	flags.StringVar(&o.Redis, "redis", "", "URL; none: a redis-server is started; cluster: one of three masters")
	flags.StringVar(&o.Database, "database", "", "URL, or postgres: one is started; none: that for several nodes, a file for one")
	flags.StringVar(&o.Binary, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&o.json, "json", "", "file for the report as JSON")
	flags.StringVar(&o.html, "html", "", "file for the report as a page")
}

var errFailed = errors.New("failed")

// complete sets the options that follow from others.
func (o *options) complete() error {
	if o.soak > 0 {
		o.Soak, o.For = true, o.soak
	}
	if o.attach != "" {
		o.Attach = strings.Split(o.attach, ",")
	}
	if o.ops != "" {
		o.Ops = strings.Split(o.ops, ",")
	}
	given := map[string]bool{}
	o.set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	unless := func(name string, set func()) {
		if !given[name] {
			set()
		}
	}
	if o.Spike { // omit everything that was not asked for, and play short matches
		unless("buzzer", func() { o.Buzzer = 0 })
		unless("survival", func() { o.Survival = 0 })
		unless("idle", func() { o.Idle = 0 })
		unless("questions", func() { o.Questions = 3 })
		unless("think", func() { o.Think = time.Second })
		unless("reveal", func() { o.Reveal = time.Second })
		unless("lag", func() { o.LagMS = -1 })
		unless("for", func() { o.For = 30 * time.Second })
		unless("ramp", func() { o.Ramp = 500 })
	}
	if o.attach != "" {
		unless("behaviours", func() { o.Behaviours = 0 })
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	o.Files = int(min(files.Cur, 1<<20))
	return o.Validate()
}

func (o *options) run(ctx context.Context) (err error) {
	if err := o.complete(); err != nil {
		return err
	}
	if o.Folder, err = os.MkdirTemp("", "swarm-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	// the data of a PostgreSQL that runs as another user is below this folder
	if err := errors.Join(os.Chmod(o.Folder, 0o711), os.Setenv("TMPDIR", o.Folder)); err != nil {
		return err
	}
	o.Guard = GuardProcess
	o.Launch = func(ctx context.Context) (runner.Process, error) { return testenv.StartSubprocess(ctx, ClientsProcess) }
	o.Log = func(line string) { fmt.Println(line) }
	report, err := runner.Run(ctx, o.Config)
	if err != nil {
		return err
	}
	fmt.Print("\n", report)
	if err := o.write(report); err != nil {
		return err
	}
	if report.Failed() != "" {
		return errFailed
	}
	return nil
}

// write writes the requested files.
func (o *options) write(r *runner.Report) error {
	var errs []error
	if o.json != "" {
		raw, err := json.MarshalIndent(r, "", "\t")
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, os.WriteFile(o.json, raw, 0o600))
		}
	}
	if o.html != "" {
		raw, err := r.HTML()
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, os.WriteFile(o.html, raw, 0o600))
		}
	}
	return errors.Join(errs...)
}
