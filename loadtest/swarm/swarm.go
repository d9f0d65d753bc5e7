// Package swarm plays on many nodes with many players, in any mix. While it loads the
// nodes, it checks everything that the players receive, and everything that is stored at
// the end, against the wire contract.
//
//	go run ./loadtest stress swarm                                     # 1,950 connections, 400 of them play
//	go run ./loadtest stress swarm -idle 80000 -duels 5000 -buzzer 5000 -survival 5000 -rate 300 -questions 3 -ramp 300 -for 1m
//	go run ./loadtest stress swarm -spike                              # three times the sustainable load
//	go run ./loadtest stress swarm -soak 20m -json soak.json           # memory and goroutines must not grow
//	go run ./loadtest stress swarm -attach http://127.0.0.1:8080       # a running server, with guests
//
// The program builds the server and starts a redis-server. It starts a PostgreSQL if
// there are several nodes or -database asks for it. It starts as many nodes as the limit
// of open files needs, and as many subprocesses for idle sessions. Clients use many
// loopback addresses. Everything ends with this program, however it ends.
//
// The program exits with status 1 in these cases:
//
//   - The checker found a violation of the contract; see package checker.
//   - A behaviour was offered but is not sent, dropped, queued or in flight.
//   - In a spike: no client was turned away, a refusal had no clear code, the p99 of
//     admitted players was over twice the earlier p99 and over -slack, or that lasted for
//     over 10 s.
//   - In a soak: memory or goroutines grow.
package swarm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"laststand/loadtest/client"
	"laststand/loadtest/report"
)

// Config configures a run.
type Config struct {
	Idle, Watchers, Duellists, Buzzer, Survival, Readers int

	Seats      int     // per arena, at most
	Questions  int     // per duel and arena
	Behaviours float64 // posted per second

	Think, Reveal time.Duration // the time to answer within; the pause after a question. Rate sets both if it is not 0
	Rate          float64       // answers/s of all players; a spike offers three times this
	Ramp          float64       // connections started per second
	For           time.Duration // duration of the load, after all have connected

	Spike         bool
	Bound         time.Duration // highest p99 of answers at a sustainable rate
	Step          time.Duration // how long to try each rate
	Soak          bool
	LateMatchWait time.Duration // for a match that was made before its player left the queue; 0: as long as an overloaded node may need
	Slack         time.Duration // any p99 up to this is accepted, because machines are noisy
	LagMS         int           // setting max_scheduler_lag_ms of the nodes; 0: no shedding for lag; below 0: their default
	Attach        []string      // URLs of running nodes to use instead of starting some
	Ops           []string      // operations URLs of these nodes; none: their metrics are unknown

	Nodes           int // 0: as many as connections need
	Files           int // open files that a process may have
	Redis, Database string
	Binary          string // of the server; "": it is built from this tree
	Log             func(format string, args ...any)
}

// Command registers the flags of the program and returns the function that runs it.
func Command(flags *flag.FlagSet) func(context.Context) error {
	o := options{set: flags}
	o.addFlags(flags)
	return o.run
}

type options struct {
	Config
	set               *flag.FlagSet
	attach, ops, json string
	soak              time.Duration
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.Idle, "idle", 1500, "sessions that do nothing")
	flags.IntVar(&o.Watchers, "watchers", 50, "sessions that watch a leaderboard")
	flags.IntVar(&o.Duellists, "duels", 200, "players of duels, an even number")
	flags.IntVar(&o.Buzzer, "buzzer", 100, "players of buzzer arenas")
	flags.IntVar(&o.Survival, "survival", 100, "players of survival arenas")
	flags.IntVar(&o.Seats, "seats", 50, "players of an arena; beyond 50 each gets a result of its own")
	flags.IntVar(&o.Questions, "questions", 10, "questions of a match")
	flags.IntVar(&o.Readers, "readers", 20, "readers of leaderboards over HTTP, each one a second")
	flags.Float64Var(&o.Behaviours, "behaviours", 500, "behaviours posted per second")
	flags.DurationVar(&o.Think, "think", 2*time.Second, "time in which players answer")
	flags.DurationVar(&o.Reveal, "reveal", 1500*time.Millisecond, "pause after a question")
	flags.Float64Var(&o.Rate, "rate", 0, "answers/s of all players, instead of -think and -reveal; in a spike, a third of what it offers, found if 0")
	flags.Float64Var(&o.Ramp, "ramp", 500, "connections started per second")
	flags.DurationVar(&o.For, "for", 30*time.Second, "duration of the load, once all are connected; of a spike, the spike alone")
	flags.BoolVar(&o.Spike, "spike", false, "offer three times the sustainable load, of duels")
	flags.DurationVar(&o.Bound, "bound", 100*time.Millisecond, "p99 of answers up to which a load is sustainable")
	flags.DurationVar(&o.Step, "step", 8*time.Second, "how long each load is tried before a spike")
	flags.DurationVar(&o.Slack, "slack", 25*time.Millisecond, "p99 that is accepted in any case, because machines are noisy")
	flags.DurationVar(&o.soak, "soak", 0, "load for this time, and check that memory and goroutines do not grow")
	flags.IntVar(&o.LagMS, "lag", 0, "setting max_scheduler_lag_ms of the nodes; 0: no shedding for lag; -1, as in a spike: their own default")
	flags.StringVar(&o.attach, "attach", "", "URLs of running nodes, separated by commas, instead of starting some; arenas do not count there, lift their limits for guests")
	flags.StringVar(&o.ops, "ops", "", "with -attach: URLs of their operations, for memory and goroutines")
	flags.IntVar(&o.Nodes, "nodes", 0, "servers; 0: as many as the connections need")
	flags.StringVar(&o.Redis, "redis", "", "URL; none: a redis-server is started; cluster: one of three masters")
	flags.StringVar(&o.Database, "database", "", "URL, or postgres: one is started; none: that for several nodes, a file for one")
	flags.StringVar(&o.Binary, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&o.json, "json", "", "file for the report as JSON")
}

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
	defaults := map[string]string{}
	if o.Spike { // omit everything that was not asked for, and play short matches
		defaults = map[string]string{"buzzer": "0", "survival": "0", "idle": "0", "questions": "3", "think": "1s", "reveal": "1s", "lag": "-1"}
	}
	if o.attach != "" {
		defaults["behaviours"] = "0"
	}
	for name, value := range defaults {
		if !given[name] {
			if err := o.set.Set(name, value); err != nil {
				return err
			}
		}
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	o.Files = int(min(files.Cur, 1<<20))
	o.Log = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	return o.Validate()
}

var errFailed = errors.New("failed")

func (o *options) run(ctx context.Context) error {
	if err := o.complete(); err != nil {
		return err
	}
	collectRarely()
	r, err := Run(ctx, o.Config)
	if err != nil {
		return err
	}
	fmt.Print("\n", r)
	if r.Failed() != "" {
		err = errFailed
	}
	return errors.Join(err, report.WriteJSON(o.json, r))
}

// Validate returns all errors of a configuration.
func (c Config) Validate() error {
	var errs []error
	add := func(isWrong bool, format string, args ...any) {
		if isWrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for name, n := range map[string]int{
		"idle": c.Idle, "watchers": c.Watchers, "duels": c.Duellists, "buzzer": c.Buzzer, "survival": c.Survival, "readers": c.Readers,
	} {
		add(n < 0, "-%s is %d; use 0 or more", name, n)
	}
	add(c.Duellists%2 != 0, "-duels is %d; use an even number", c.Duellists)
	add(c.Seats < 2 || c.Seats > 10000, "-seats is %d; use 2 to 10000", c.Seats)
	add(c.Questions < 1 || c.Questions > 50, "-questions is %d; use 1 to 50", c.Questions)
	add(c.For <= 0 || c.For > 50*time.Minute, "-for is %v; use up to 50m, because tokens are valid for an hour", c.For)
	add(!(c.Ramp >= 0.1 && c.Ramp <= maxPerSecond), "-ramp is %v; use 0.1 to %.0f connections a second", c.Ramp, maxPerSecond)
	add(!isInRange(c.Rate), "-rate is %v; use 0, or 0.01 to %.0f a second", c.Rate, maxPerSecond)
	add(!isInRange(c.Behaviours), "-behaviours is %v; use 0, or 0.01 to %.0f a second", c.Behaviours, maxPerSecond)
	add(c.Nodes < 0 || c.Nodes > 100, "-nodes is %d; use 0 to 100", c.Nodes)
	add(c.players() > c.mostConnections() && c.Files > 0, "%d players need more than the %d open files of a process; use fewer, or raise ulimit -n", c.players(), c.Files)
	add(c.Soak && len(c.Attach) > 0 && len(c.Ops) == 0, "-soak reads the metrics of the nodes; with -attach add -ops")
	add(c.Spike && c.Soak, "-spike and -soak exclude each other; use one")
	add(c.Spike && c.Buzzer+c.Survival > 0, "a spike has only duels; omit -buzzer and -survival")
	add(c.Behaviours > 0 && len(c.Attach) > 0, "-behaviours needs a token of the role service, which this program mints only for nodes that it starts; omit it with -attach")
	add(c.connections() == 0 && c.Readers == 0 && c.Behaviours == 0 && !c.Spike, "there is nothing to do; use -idle, -duels, -buzzer, -survival, -watchers, -readers or -behaviours")
	for _, url := range append(append([]string{}, c.Attach...), c.Ops...) {
		add(!strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://"), "%q is no URL; use one such as http://127.0.0.1:8080", url)
	}
	return errors.Join(errs...)
}

// maxPerSecond bounds every rate, because tickers pace them.
const maxPerSecond = 1e6

// isInRange reports whether a rate can be paced; 0 means none.
func isInRange(perSecond float64) bool {
	return perSecond == 0 || perSecond >= 0.01 && perSecond <= maxPerSecond
}

// players returns the number of players.
func (c Config) players() int { return c.Duellists + c.Buzzer + c.Survival }

// hosts returns how many hosts the players of a mode need.
func (c Config) hosts(players int) int { return (players + c.Seats - 1) / c.Seats }

// connections returns the number of all connections.
func (c Config) connections() int {
	return c.players() + c.hosts(c.Buzzer) + c.hosts(c.Survival) + c.Watchers + c.Idle
}

// reservedFiles is the number of files that a process needs besides connections.
const reservedFiles = 2500

// mostConnections returns how many connections a process may have.
func (c Config) mostConnections() int { return max(c.Files-reservedFiles, 100) }

// setPace sets Think and Reveal so that all players together reach Rate. A question lasts
// for the longer of two thinking times plus the pause. In a full arena it lasts for nearly
// the whole thinking time plus the pause.
func (c *Config) setPace() {
	if c.Rate == 0 || c.Spike || c.players() == 0 {
		return
	}
	period := time.Duration(float64(c.players()) / c.Rate * float64(time.Second))
	c.Think = min(period/2, limit*3/4)
	c.Reveal = min(max(period-c.Think, 0), time.Minute)
}

// dialerFrom returns the dialers of clients whose addresses start at a number.
func dialerFrom(firstAddress int) func(n int) *net.Dialer {
	return func(n int) *net.Dialer { return client.FromAddress(firstAddress + n/client.PerAddress) }
}
