package bench_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// kind is a kind of read.
type kind struct {
	name string
	read func(ctx context.Context, client *http.Client) error
}

// reads measures several kinds of reads in rounds, with each number of clients. The
// function cost returns the processor time that the server processes have used so far. A
// nil cost reports none.
func reads(b *testing.B, kinds []kind, cost spending) {
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

// spending returns the processor time that processes have used so far, by name.
type spending func() (map[string]time.Duration, error)

// costs reports the processor time of each process for one call of do. do returns how many
// operations it made. A nil spending reports none.
func costs(b *testing.B, spent spending, do func() int) {
	if spent == nil {
		do()
		return
	}
	before, err := spent()
	if err != nil {
		b.Fatal(err)
	}
	n := do()
	after, err := spent()
	if err != nil {
		b.Fatal(err)
	}
	for name := range after {
		b.ReportMetric(float64((after[name]-before[name]).Microseconds())/float64(max(n, 1)), name+"-µs")
	}
}

// servers returns the processor time of a server, its Redis and this process.
func servers(s readServer) spending {
	return func() (map[string]time.Duration, error) {
		all := map[string]time.Duration{}
		for name, pid := range map[string]int{"server": s.PID(), "redis": s.redis.PID(), "clients": os.Getpid()} {
			spent, err := testenv.CPUTime(pid)
			if err != nil {
				return nil, err
			}
			all[name] = spent
		}
		return all, nil
	}
}
