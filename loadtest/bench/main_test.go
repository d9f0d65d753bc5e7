package bench_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/bench"
)

// The benchmarks of this folder measure parts of a node on real services, which they start
// themselves. The files are named after the parts: boards_test.go measures settlement and
// leaderboards, and behaviours_test.go, tasks_test.go and timers_test.go what their names say.
// docs/PERFORMANCE.md has the current figures.
//
//	go test -run '^$' -bench 'Settle|Read|Roll' -benchtime 1x -timeout 60m ./loadtest/bench

// These are the flags with which a benchmark starts itself again.
var (
	timersKind  = flag.String("timers", "", "the kind of timers that a process measures which the benchmark starts")
	timersCount = flag.Int("count", 0, "of a process's pending timers")
	churned     = flag.Duration("churned", 0, "how long a process adds and stops besides")
)

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	switch {
	case flag.Arg(0) == bench.FloorProcess:
		new(bench.Floor).Run(context.Background())
	case *timersKind != "":
		var result outcome
		if result, err = measure(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(result)
		}
	case flag.Lookup("test.bench").Value.String() != "":
		load, _ := os.ReadFile("/proc/loadavg") // for the reader only
		fmt.Printf("machine: %d cores, %s, %s; everything shares it; load %s", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), load)
		code := m.Run()
		testenv.StopShared()
		os.Exit(code)
	default:
		testenv.Main(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// quantiles reports p50, p99 and the maximum of the durations, in ms.
func quantiles(b *testing.B, taken []time.Duration) {
	b.Helper()
	if len(taken) == 0 {
		b.Fatal("nothing was measured")
	}
	slices.Sort(taken)
	for name, share := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99, "max-ms": 1} {
		at := min(len(taken)-1, int(share*float64(len(taken))))
		b.ReportMetric(float64(taken[at].Microseconds())/1000, name)
	}
}
