// Package chaos shows that many nodes lose nothing. Players play duels and arenas
// over several nodes without pauses. At the same time the program kills, stalls and
// drains nodes. It checks everything that the players receive, and everything that is
// stored at the end, against the wire contract.
//
//	go run ./loadtest stress chaos                     # 3 nodes, 300 players, 60 s
//	go run ./loadtest stress chaos -nodes 5 -players 800 -for 5m -kills 30 -seed 7
//	go run ./loadtest stress chaos -for 10m -arenas 80 -kills 50 -stalls 40 -drains 20
//	go run ./loadtest stress chaos -redis redis://127.0.0.1:7001,127.0.0.1:7002 -database postgres://…
//
// The numbers of faults and arenas are those of the whole run: a longer run needs
// more of them. A seed repeats the faults, but not the timing. On a busy machine
// questions open late; -slack allows them to be that much later than the contract
// says. The report says how late questions reached players, and which part of that
// delay this program's own faults caused.
//
// Without -redis the program starts a cluster of three masters, and without
// -database a PostgreSQL. Both must be installed. If anything was wrong, or later than
// the contract allows, the program exits with status 1 and keeps the logs of the
// nodes. Everything that it starts listens on loopback and ends with it.
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/client"
	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// Config configures a run. All fields but Env and Log are needed.
type Config struct {
	Binary          string // of the server
	Env             []string
	Redis, Database string
	Nodes           int // at least 2
	Players         int
	Arenas          int // in addition to the duels; buzzer and survival take turns

	Kills, Stalls, Drains int
	For                   time.Duration // of faults and new duels; matches that have started are played on
	Seed                  uint64        // of the faults, and of the players' choices
	Log                   func(format string, args ...any)
}

// Command registers the flags of the program and returns the function that runs it.
func Command(flags *flag.FlagSet) func(context.Context) error {
	var c Config
	flags.StringVar(&c.Binary, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&c.Redis, "redis", "", "URL of the nodes' Redis; none: a cluster is started")
	flags.StringVar(&c.Database, "database", "", "URL of the nodes' database; none: a PostgreSQL is started")
	flags.IntVar(&c.Nodes, "nodes", 3, "servers, at least 2")
	flags.IntVar(&c.Players, "players", 300, "players that play at the same time")
	flags.IntVar(&c.Arenas, "arenas", 8, "arenas, buzzer and survival in turn")
	flags.IntVar(&c.Kills, "kills", 5, "nodes killed")
	flags.IntVar(&c.Stalls, "stalls", 4, "nodes stalled for longer than a question")
	flags.IntVar(&c.Drains, "drains", 2, "nodes drained")
	flags.DurationVar(&c.For, "for", time.Minute, "time in which new duels start")
	flags.Uint64Var(&c.Seed, "seed", rand.Uint64N(1_000_000), "seed of the faults and the players") //nolint:gosec // no secret
	slack := flags.Duration("slack", 3*time.Second, "added to the 3 s of the contract, because one machine does all of this")
	return func(ctx context.Context) error {
		if c.Nodes < 2 || c.Players < 2 {
			return fmt.Errorf("-nodes is %d and -players is %d; use at least 2 each", c.Nodes, c.Players)
		}
		c.Log = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
		return c.startStoresAndRun(ctx, *slack)
	}
}

var errBreach = errors.New("the nodes did not keep the contract")

// startStoresAndRun starts what is missing, runs, and prints the report.
func (c Config) startStoresAndRun(ctx context.Context, slack time.Duration) (err error) {
	c.Log("seed %d", c.Seed)
	if c.Binary, err = testenv.BuildServer(ctx, c.Binary); err != nil {
		return err
	}
	if c.Redis == "" {
		if c.Redis, _, err = testenv.StartProgramCluster(3); err != nil {
			return err
		}
	}
	if c.Database == "" {
		postgres, err := testenv.StartPostgres()
		if err != nil {
			return err
		}
		c.Database = postgres.URL
	}
	report, err := Run(ctx, c)
	if err != nil {
		return err
	}
	fmt.Print(report)
	if report.Count > 0 || report.LaterThan(MaxLateMS+slack.Milliseconds()) > 0 {
		dir, err := report.KeepLogs()
		fmt.Println("logs      " + dir)
		return errors.Join(errBreach, err)
	}
	return nil
}

// run is one run.
type run struct {
	Config
	checker *checker.Checker
	nodes   *nodes
	delays  delays
	group   *players.Group
	startAt time.Time
}

// Run runs and ends everything that it started. An error says that the run could not be
// made. The report lists the violations.
func Run(ctx context.Context, c Config) (Report, error) {
	r := &run{Config: c, checker: &checker.Checker{LimitMS: limitMS, RevealMS: revealMS, ArenasCount: true}, startAt: time.Now()}
	if r.Log == nil {
		r.Log = func(string, ...any) {}
	}
	var err error
	if r.nodes, err = startNodes(ctx, c, r.checker); err != nil {
		return Report{}, err
	}
	defer r.nodes.stop()
	r.log("%d nodes serve", c.Nodes)
	if err := r.play(ctx); err != nil {
		return Report{}, err
	}
	r.log("all has been played; checking what is stored")
	r.checker.JudgeRest()
	stored := checker.Stored{Checker: r.checker, Get: r.get, Share: 1}
	if _, err := stored.CheckStored(ctx); err != nil {
		return Report{}, err
	}
	r.nodes.stop()
	return r.report(), nil
}

// log reports the progress of the run.
func (r *run) log(format string, args ...any) {
	r.Log("%6.1f s  %s", time.Since(r.startAt).Seconds(), fmt.Sprintf(format, args...))
}

// get reads from the nodes in turn.
func (r *run) get(ctx context.Context, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return client.GetJSON(ctx, r.nodes.next()+"/v1/games/demo/"+path, v)
}

// These are the settings of the matches.
const (
	limitMS     = 2500
	revealMS    = 400
	countdownMS = 600
	questions   = 4
)

// settings is the configuration of the nodes.
var settings = fmt.Sprintf(`games:
  demo:
    %s
    duel: {questions: %d, time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0, reads_per_second_per_address: 0,
  arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0,
  connections_per_address: 0, hellos_per_minute: 0, hellos_per_minute_per_address: 0, max_concurrent_requests: 0, max_scheduler_lag_ms: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`, testenv.KeysYAML, questions, limitMS, countdownMS, revealMS, limitMS, countdownMS, revealMS)

// hosts is how many arenas run at the same time, at most.
const hosts = 4

// play lets all players play until the time and all faults are over. After that each
// player of duels joins the queue once more.
func (r *run) play(ctx context.Context) error {
	r.group = players.NewGroup(ctx, players.Config{
		Servers: r.nodes.urls, Token: r.token, Checker: r.checker, Stats: stats.New(time.Hour), Seed: r.Seed, Ranked: true, Questions: questions + 2,
		ReplyTimeout: 3 * time.Second, ConnectTimeout: 30 * time.Second, SilenceTimeout: 30 * time.Second, LateMatchWait: 1500 * time.Millisecond,
		OnQuestion: r.delays.add, OnWelcome: r.delays.clock.bound,
		Habits: players.Habits{
			Think: limitMS / 4 * time.Millisecond, SkipShare: 1. / 30, LastMomentShare: 1. / 30, RepeatShare: 1. / 10, SecondShare: 1. / 50, OutShare: 1. / 20,
			MoveShare: 1. / 50, MoveFirstShare: 1. / 3,
		},
	})
	defer r.group.Disconnect()
	r.group.SetDuellists(r.Players)
	r.startAt = time.Now()                     // the start of the nodes does not count
	dice := rand.New(rand.NewPCG(r.Seed, 100)) //nolint:gosec // a seed must repeat its choices
	for n := range min(hosts, r.Arenas) {
		most := max(2, min(10+dice.IntN(71), r.Players/hosts))
		r.group.AddArenas(players.Arenas{
			Mode: []string{"buzzer", "survival"}[n%2], MinPlayers: min(10, most), MaxPlayers: most, Count: (r.Arenas + hosts - 1 - n) / hosts,
		})
	}
	var events errgroup.Group
	events.Go(func() error { return r.injectFaults(ctx) })
	events.Go(func() error { return pause(ctx, r.For) })
	err := events.Wait()
	r.group.AwaitArenas()
	r.log("no new matches")
	r.group.Stop()
	r.group.Wait()
	if err == nil {
		r.group.Rejoin()
	}
	return errors.Join(err, ctx.Err())
}

// token mints the tokens of hosts. Players are guests.
func (r *run) token(role, id string) (string, error) {
	if role == "player" {
		return "", nil
	}
	return testenv.Token(role, id)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// KeepLogs copies the logs of the nodes to a new folder, which stays.
func (r Report) KeepLogs() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "chaos-"); err != nil {
		return "", err
	}
	for name, text := range r.logs {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".log"), []byte(text), 0o600))
	}
	return dir, err
}
