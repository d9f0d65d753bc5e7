// Command duels measures answers of duels. Pairs of players play without pauses, or
// at a pace. The program starts an embedded server, then one on redis-server.
// docs/PERFORMANCE.md has the current figures.
//
//	go run ./loadtest/duels                     # both, 3 runs each, medians
//	go run ./loadtest/duels -pairs 100 -seconds 10 -runs 1
//	go run ./loadtest/duels -url http://127.0.0.1:8080   # a server that is already running
//
// It prints answers/s, and the time from the answer to `answered` as the client sees
// it. It exits with an error if a push number of a match is missing or an answer is
// refused. It uses loopback only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"laststand/loadtest/harness"
)

type options struct {
	pairs, seconds, runs int
	url, server, kinds   string
}

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 100, "pairs of players")
	flag.IntVar(&o.seconds, "seconds", 10, "of each run")
	flag.IntVar(&o.runs, "runs", 3, "runs of each kind; medians are printed")
	flag.StringVar(&o.url, "url", "", "measure this server, on this machine, instead of starting some")
	flag.StringVar(&o.server, "server", "", "start this binary instead of this tree")
	flag.StringVar(&o.kinds, "kinds", "", "what to measure, as it is printed, separated by semicolons; all")
	flag.Parse()
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "duels:", err)
		os.Exit(1)
	}
}

// kind says what to measure: where matches live, and how fast questions and answers
// come. Paced answers reach about 200 answers/s embedded and 1,000 on Redis.
type kind struct {
	name   string
	redis  bool
	reveal time.Duration // pause after each question
	think  time.Duration // players answer at a random instant within it
}

var kinds = []kind{
	{"embedded, no pause", false, 0, 0},
	{"embedded, paced", false, 700 * time.Millisecond, 300 * time.Millisecond},
	{"redis, no pause", true, 0, 0},
	{"redis, paced", true, 70 * time.Millisecond, 150 * time.Millisecond},
}

func measure(o options) error {
	wanted, err := harness.Choose(kinds, func(k kind) string { return k.name }, o.kinds, ";")
	if err != nil {
		return err
	}
	fmt.Printf("machine: %d cores, %s, %s; client and servers share it; %d pairs, %d s a run, median of %d\n",
		runtime.NumCPU(), runtime.GOARCH, runtime.Version(), o.pairs, o.seconds, o.runs)
	fmt.Printf("%-20s %12s %10s %10s %10s\n", "", "answers/s", "p50 ms", "p99 ms", "matches")
	if o.url != "" {
		return repeat(o, o.url, func() (outcome, error) { return play(context.Background(), o.url, o, 0) })
	}
	binary, done, err := harness.Build(context.Background(), o.server)
	if err != nil {
		return err
	}
	defer done()
	o.server = binary
	for _, k := range wanted {
		if err := repeat(o, k.name, func() (outcome, error) { return once(o, k) }); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// repeat prints the medians of several runs.
func repeat(o options, name string, run func() (outcome, error)) error {
	var runs []outcome
	for range o.runs {
		r, err := run()
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	ms := func(quantile float64) float64 {
		return harness.Median(runs, func(r outcome) float64 { return float64(r.latency.ValueAtQuantile(quantile)) / 1000 })
	}
	rate := harness.Median(runs, func(r outcome) float64 { return float64(r.latency.TotalCount()) / float64(o.seconds) })
	fmt.Printf("%-20s %12.0f %10.2f %10.2f %10.0f\n", name, rate, ms(50), ms(99),
		harness.Median(runs, func(r outcome) float64 { return float64(r.matches) }))
	return nil
}

// outcome is the result of one run; latencies are in microseconds.
type outcome struct {
	latency *hdrhistogram.Histogram
	matches int
}

// once starts a fresh server and plays against it.
func once(o options, k kind) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.seconds+60)*time.Second)
	defer cancel()
	game := fmt.Sprintf("{duel: {countdown_ms: 0, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}}", k.reveal.Milliseconds())
	s, err := harness.Start(ctx, harness.Options{Binary: o.server, Redis: k.redis, Game: game})
	if err != nil {
		return outcome{}, err
	}
	defer s.Stop()
	return play(ctx, s.URL, o, k.think)
}
