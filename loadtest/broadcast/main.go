// Command broadcast measures how long a push takes to reach every watcher of an
// arena. Its floor is a server that only writes the same bytes to as many sockets.
// docs/PERFORMANCE.md has the current figures.
//
//	go run ./loadtest/broadcast                 # 10,000 watchers, 3 runs of each, medians
//	go run ./loadtest/broadcast -watchers 2000 -pushes 10 -runs 1
//	go run ./loadtest/broadcast -runs 1 -profile /tmp/broadcast    # then go tool pprof /tmp/broadcast.profile
//
// The time of a push starts when the server opens the question. On the floor it
// starts with the first write. It ends when the last watcher has read the push.
// Server µs are the processor time of the server for each frame that a watcher
// received. An arena also pushes that a question is closed.
//
// The watchers run in separate processes. The program needs redis-server and uses
// loopback only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"laststand/loadtest/harness"
)

type options struct {
	watchers, pushes, runs, processes int
	profile                           string
}

func main() {
	var o options
	role := flag.String("as", "", "what a process is that this one starts: watchers, floor")
	target := flag.String("target", "", "the address that watchers connect to")
	code := flag.String("code", "", "of the arena; none: the floor")
	first := flag.Int("first", 0, "number of a process's first watcher")
	size := flag.Int("size", 0, "bytes of the floor's pushes")
	flag.IntVar(&o.watchers, "watchers", 10_000, "sockets that each push goes to")
	flag.IntVar(&o.pushes, "pushes", 20, "of each run")
	flag.IntVar(&o.runs, "runs", 3, "runs of each kind; medians are printed")
	flag.IntVar(&o.processes, "processes", 2, "that the watchers are spread over")
	flag.StringVar(&o.profile, "profile", "", "write the server's profiles of its pushes to FILE.profile (processor time) and FILE.allocs, of the last run")
	flag.Parse()
	var err error
	switch *role {
	case "watchers":
		err = watch(watching{target: *target, code: *code, first: *first, count: o.watchers})
	case "floor":
		err = serveFloor(o.watchers, *size)
	default:
		err = measure(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "broadcast:", err)
		os.Exit(1)
	}
}

func measure(o options) error {
	if o.processes < 1 || o.watchers < o.processes || o.pushes < 1 || o.runs < 1 {
		return fmt.Errorf("give at least one of -processes, -pushes and -runs, and as many -watchers as -processes (there are %d watchers for %d processes)", o.watchers, o.processes)
	}
	o.watchers -= o.watchers % o.processes
	fmt.Printf("machine: %d cores, %s, %s; servers and watchers share it; %d watchers, %d pushes a run, median of %d\n",
		runtime.NumCPU(), runtime.GOARCH, runtime.Version(), o.watchers, o.pushes, o.runs)
	fmt.Printf("%-12s %10s %10s %10s %12s\n", "", "p50 ms", "max ms", "bytes", "server µs")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	var laststand, floor []outcome
	for range o.runs {
		one, err := arena(ctx, o)
		if err != nil {
			return fmt.Errorf("arena: %w", err)
		}
		laststand = append(laststand, one)
		if one, err = bare(ctx, o, one.bytes); err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		floor = append(floor, one)
	}
	show("laststand", laststand)
	show("floor", floor)
	return nil
}

// outcome is the result of one run; times are in milliseconds.
type outcome struct {
	p50, max float64
	bytes    int     // of a push
	server   float64 // µs of processor time per frame
}

func show(name string, runs []outcome) {
	middle := func(of func(outcome) float64) float64 { return harness.Median(runs, of) }
	fmt.Printf("%-12s %10.1f %10.1f %10d %12.2f\n", name, middle(func(r outcome) float64 { return r.p50 }),
		middle(func(r outcome) float64 { return r.max }), runs[0].bytes, middle(func(r outcome) float64 { return r.server }))
}
