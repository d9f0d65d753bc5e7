// Command arenas measures answers of many: players in arenas answer as soon as
// they are asked, on a server with a redis-server beside it.
//
//	go run ./loadtest/arenas                    # 3 runs of each, medians
//	go run ./loadtest/arenas -players 100 -questions 20 -runs 1
//
// answers: survival, where everybody is wrong, so that each question is void
// and all play on: answers/s that are accepted, and from answer to `answered`.
// firsts: buzzer, where everybody is right at once: answers/s that are decided,
// of which one a question is the first; beside it, in the same run, what the
// deciding alone takes on the same Redis: the plain WATCH, GET, MULTI, DECR,
// EXEC of every answer, and one script that does it, from as many goroutines.
//
// Round trips are reads that Redis did from its connections, by INFO. It needs
// redis-server. Load goes to loopback only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"laststand/loadtest/rig"
)

type options struct {
	arenas, players, questions, runs int
}

func main() {
	var o options
	flag.IntVar(&o.arenas, "arenas", 8, "arenas at once, of answers")
	flag.IntVar(&o.players, "players", 100, "players of each arena")
	flag.IntVar(&o.questions, "questions", 60, "questions of each arena, at most 100")
	flag.IntVar(&o.runs, "runs", 3, "runs of each kind; medians are printed")
	flag.Parse()
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "arenas:", err)
		os.Exit(1)
	}
}

// outcome is what one run of one kind took.
type outcome struct {
	rate       float64 // answers/s
	p50, p99   float64 // ms
	roundTrips float64 // of Redis, an answer
	commands   float64 // the same
	cpu        rig.CPU // an answer
}

// kind is something that is measured.
type kind struct {
	name string
	run  func(ctx context.Context, s *rig.Server, o options) (outcome, error)
}

var kinds = []kind{{"answers", answers}, {"firsts", firsts}, {"plain WATCH", plainWatch}, {"one script", oneScript}}

func measure(o options) error {
	fmt.Printf("machine: %d cores, %s, %s; clients, server and Redis share it; %d players an arena, %d questions, median of %d\n",
		runtime.NumCPU(), runtime.GOARCH, runtime.Version(), o.players, o.questions, o.runs)
	fmt.Printf("%-14s %11s %9s %9s %13s %11s %24s\n", "", "answers/s", "p50 ms", "p99 ms", "round trips", "commands", "server, Redis, clients µs")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	binary, done, err := rig.Build(ctx)
	if err != nil {
		return err
	}
	defer done()
	seen := make(map[string][]outcome)
	for range o.runs {
		for _, k := range kinds {
			one, err := once(ctx, binary, k, o)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			seen[k.name] = append(seen[k.name], one)
		}
	}
	for _, k := range kinds {
		show(k.name, seen[k.name])
	}
	return nil
}

// once measures one kind on a fresh server.
func once(ctx context.Context, binary string, k kind, o options) (outcome, error) {
	s, err := rig.Start(ctx, rig.Options{
		Binary: binary, Redis: true, Bank: bank(o.questions), Game: "{banks: [builtin, load], arena: {countdown_ms: 1000, reveal_ms: 0}}",
	})
	if err != nil {
		return outcome{}, err
	}
	defer s.Stop()
	return k.run(ctx, s, o)
}

func show(name string, runs []outcome) {
	middle := func(of func(outcome) float64) float64 { return rig.Median(runs, of) }
	part := func(of func(rig.CPU) time.Duration) float64 {
		return middle(func(r outcome) float64 { return float64(of(r.cpu).Nanoseconds()) / 1000 })
	}
	fmt.Printf("%-14s %11.0f %9.2f %9.2f %13.2f %11.1f %8.1f %7.1f %8.1f\n", name,
		middle(func(r outcome) float64 { return r.rate }), middle(func(r outcome) float64 { return r.p50 }),
		middle(func(r outcome) float64 { return r.p99 }), middle(func(r outcome) float64 { return r.roundTrips }),
		middle(func(r outcome) float64 { return r.commands }),
		part(func(c rig.CPU) time.Duration { return c.Server }), part(func(c rig.CPU) time.Duration { return c.Redis }),
		part(func(c rig.CPU) time.Duration { return c.Clients }))
}
