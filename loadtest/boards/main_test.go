package boards

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"laststand/internal/testenv"
)

var (
	entries = flag.Int("entries", 1_000_000, "of the boards that are read and rolled")
	clients = flag.String("clients", "4", "that read at once; several numbers, with commas between them, are measured in turn")
	rounds  = flag.Int("rounds", 1, "in which each kind of read is measured, on the same boards")
	server  = flag.String("server", "", "path of the server that is read, to compare two; none: it is built")
	profile = flag.String("profile", "", "folder for profiles of the server, of each kind of read; none: none are taken")
	as      = flag.String("as", "", "how the benchmark starts itself again")
)

const game = "bench"

func TestMain(m *testing.M) {
	flag.Parse()
	if *as != "" {
		if err := serveFloor(*as); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	fmt.Printf("machine: %d cores, %s, %s; clients, server, Redis and SQL share it\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version())
	code := m.Run()
	testenv.StopShared()
	os.Exit(code)
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
