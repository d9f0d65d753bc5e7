package boards

import (
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
)

var (
	entries = flag.Int("entries", 1_000_000, "of the boards that are read and rolled")
	clients = flag.String("clients", "4", "that read at once; several numbers, with commas between them, are measured in turn")
	rounds  = flag.Int("rounds", 1, "in which each kind of read is measured, on the same boards")
)

const game = "bench"

func TestMain(m *testing.M) {
	flag.Parse()
	fmt.Printf("machine: %d cores, %s, %s; clients, server, Redis and SQL share it\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version())
	os.Exit(m.Run())
}

// reads measures some kinds of reads, in rounds, by each number of clients.
func reads(b *testing.B, header http.Header, kinds []kind) {
	for _, text := range strings.Split(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			b.Fatalf("-clients %s: give numbers from 1 on, such as 4,64", *clients)
		}
		for range *rounds {
			for _, k := range kinds {
				b.Run(k.name+"/"+text, func(b *testing.B) { hammer(b, n, header, k.url) })
			}
		}
	}
}

// kind is a kind of read.
type kind struct {
	name string
	url  func() string
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
