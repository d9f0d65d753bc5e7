package boards

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/loadtest/rig"
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
	os.Exit(m.Run())
}

// reads measures some kinds of reads, in rounds, by each number of clients. cost
// reads what the processes behind them have taken so far; nil: it is not known.
func reads(b *testing.B, kinds []kind, cost func() (rig.CPU, error)) {
	for _, text := range strings.Split(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			b.Fatalf("-clients %s: give numbers from 1 on, such as 4,64", *clients)
		}
		for range *rounds {
			for _, k := range kinds {
				b.Run(k.name+"/"+text, func(b *testing.B) { costs(b, cost, func() int { return hammer(b, n, k) }) })
			}
		}
	}
}

// kind is a kind of read.
type kind struct {
	name    string
	read    func(ctx context.Context, client *http.Client) error
	profile func(ctx context.Context, name string) error // taken meanwhile; nil: none
}

// costs reports the processor time of each read, of which some function says how
// many it made.
func costs(b *testing.B, cost func() (rig.CPU, error), made func() int) {
	if cost == nil {
		made()
		return
	}
	before, err := cost()
	if err != nil {
		b.Fatal(err)
	}
	n := made()
	after, err := cost()
	if err != nil {
		b.Fatal(err)
	}
	spent := after.Less(before)
	for name, of := range map[string]time.Duration{"server-µs": spent.Server, "redis-µs": spent.Redis, "clients-µs": spent.Clients} {
		b.ReportMetric(float64(of.Microseconds())/float64(max(n, 1)), name)
	}
}

// quantiles reports p50, p99 and the most of what was taken, in ms.
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
