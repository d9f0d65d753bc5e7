// Command arenas measures answers and first right answers in arenas. It starts a
// server and a redis-server. docs/PERFORMANCE.md has the current figures.
//
//	go run ./loadtest/arenas                    # 3 runs of each kind, medians
//	go run ./loadtest/arenas -players 100 -questions 20 -runs 1
//	go run ./loadtest/arenas -kinds answers,floor -rate 4000   # spread over time
//	go run ./loadtest/arenas -kinds answers -find              # the highest rate with p99 < 20 ms
//
// The kinds are:
//
//   - answers: survival. All players answer at once and all are wrong, so each
//     question is void and all play on. It reports accepted answers/s, and the time
//     from the answer to `answered`.
//   - floor: the same frames without a game. A bare server accepts each answer by a
//     minimal script. This is the cost of sockets and Redis.
//   - firsts: buzzer. All players are right at once; one answer per question is the
//     first. It reports decided answers/s.
//   - plain WATCH, one script: the decision alone on the same Redis, by as many
//     goroutines. The first does WATCH, GET, MULTI, DECR and EXEC for each answer.
//
// With -rate, players answer at random instants after the question. Their number is
// such that the rate is reached if everything else takes no time. Therefore the
// printed rate is a little lower.
//
// Round trips are the reads that Redis did from its connections, from INFO. The
// columns idle, soft interrupts and stolen are those of all cores since the first
// reply, from /proc/stat. The program needs redis-server and uses loopback only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"laststand/loadtest/harness"
)

type options struct {
	arenas, players, questions, runs int
	rate                             int // offered answers/s; 0: without pauses
	find                             bool
	kinds, server, profile           string
	as, redis                        string // for the floor's process
}

// spread is the time over which the answers to a question are spread.
func (o options) spread() time.Duration {
	if o.rate == 0 {
		return 0
	}
	return time.Duration(o.arenas*o.players) * time.Second / time.Duration(o.rate)
}

func main() {
	var o options
	flag.IntVar(&o.arenas, "arenas", 8, "arenas at once, of answers")
	flag.IntVar(&o.players, "players", 100, "players of each arena")
	flag.IntVar(&o.questions, "questions", 60, "questions of each arena, at most 100")
	flag.IntVar(&o.runs, "runs", 3, "runs of each kind; medians are printed")
	flag.IntVar(&o.rate, "rate", 0, "answers/s to offer, of answers and floor; 0 for as many as there may be")
	flag.BoolVar(&o.find, "find", false, "find the highest rate with a p99 below 20 ms, of answers and floor")
	flag.StringVar(&o.kinds, "kinds", "", "what to measure, as it is printed, separated by commas; all")
	flag.StringVar(&o.server, "server", "", "measure this binary instead of this tree")
	flag.StringVar(&o.profile, "profile", "", "write the server's profiles to FILE.profile (processor time) and FILE.allocs, of the last run")
	flag.StringVar(&o.as, "as", "", "what to be; internal")
	flag.StringVar(&o.redis, "redis", "", "internal")
	flag.Parse()
	run := measure
	if o.as == "floor" {
		run = serveFloor
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "arenas:", err)
		os.Exit(1)
	}
}

// outcome is the result of one run of one kind.
type outcome struct {
	rate       float64     // answers/s
	p50, p99   float64     // ms
	roundTrips float64     // of Redis, per answer
	commands   float64     // of Redis, per answer
	cpu        harness.CPU // per answer

	idle, soft, stolen float64 // percent of the machine's processor time, since the first reply
}

// kind is something to measure, on a server that is started for it.
type kind struct {
	name  string
	start func(ctx context.Context, o options) (*harness.Server, error)
	run   func(ctx context.Context, s *harness.Server, o options) (outcome, error)
}

var kinds = []kind{
	{"answers", ours, answers}, {"floor", floorOf, bare}, {"firsts", ours, firsts}, {"plain WATCH", ours, plainWatch}, {"one script", ours, oneScript},
}

func ours(ctx context.Context, o options) (*harness.Server, error) {
	return harness.Start(ctx, harness.Options{
		Binary: o.server, Redis: true, Bank: harness.Bank(o.questions), Game: "{banks: [builtin, load], arena: {countdown_ms: 1000, reveal_ms: 0}}",
	})
}

func floorOf(ctx context.Context, o options) (*harness.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return harness.Bare(ctx, self, "-as", "floor",
		"-arenas", strconv.Itoa(o.arenas), "-players", strconv.Itoa(o.players), "-questions", strconv.Itoa(o.questions))
}

func measure(o options) error {
	wanted, err := harness.Choose(kinds, func(k kind) string { return k.name }, o.kinds, ",")
	if err != nil {
		return err
	}
	fmt.Printf("machine: %d cores, %s, %s; clients, server and Redis share it; %d players an arena, %d questions, median of %d\n",
		runtime.NumCPU(), runtime.GOARCH, runtime.Version(), o.players, o.questions, o.runs)
	fmt.Printf("%-14s %11s %9s %9s %13s %11s %26s %24s\n", "", "answers/s", "p50 ms", "p99 ms", "round trips", "commands",
		"server, Redis, clients µs", "idle, softirq, stolen %")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	binary, done, err := harness.Build(ctx, o.server)
	if err != nil {
		return err
	}
	defer done()
	o.server = binary
	if o.find {
		return find(ctx, o, wanted)
	}
	seen := make(map[string][]outcome)
	for range o.runs {
		for _, k := range wanted {
			one, err := once(ctx, k, o)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			seen[k.name] = append(seen[k.name], one)
		}
	}
	for _, k := range wanted {
		show(k.name, seen[k.name])
	}
	return nil
}

// once measures one kind on a fresh server.
func once(ctx context.Context, k kind, o options) (outcome, error) {
	s, err := k.start(ctx, o)
	if err != nil {
		return outcome{}, err
	}
	defer s.Stop()
	return k.run(ctx, s, o)
}

func show(name string, runs []outcome) {
	middle := func(of func(outcome) float64) float64 { return harness.Median(runs, of) }
	part := func(of func(harness.CPU) time.Duration) float64 {
		return middle(func(r outcome) float64 { return float64(of(r.cpu).Nanoseconds()) / 1000 })
	}
	fmt.Printf("%-14s %11.0f %9.2f %9.2f %13.2f %11.1f %8.1f %7.1f %9.1f %8.1f %7.1f %7.1f\n", name,
		middle(func(r outcome) float64 { return r.rate }), middle(func(r outcome) float64 { return r.p50 }),
		middle(func(r outcome) float64 { return r.p99 }), middle(func(r outcome) float64 { return r.roundTrips }),
		middle(func(r outcome) float64 { return r.commands }),
		part(func(c harness.CPU) time.Duration { return c.Server }), part(func(c harness.CPU) time.Duration { return c.Redis }),
		part(func(c harness.CPU) time.Duration { return c.Clients }),
		middle(func(r outcome) float64 { return r.idle }), middle(func(r outcome) float64 { return r.soft }),
		middle(func(r outcome) float64 { return r.stolen }))
}
