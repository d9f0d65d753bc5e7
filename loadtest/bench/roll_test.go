package bench_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
	"laststand/internal/testenv"
)

// BenchmarkRoll ends the day of a rolling board and prepares the board for the next turn.
// This removes two days of entries from it.
func BenchmarkRoll(b *testing.B) {
	rdb := redis.NewClient(options(b, testenv.Redis(b).URL))
	defer rdb.Close()
	ledger := newSynthetic(*entries)
	store := redisstore.NewBoards(rdb)
	applier := lb.NewApplier(applierOptions(ledger, store))
	began := time.Now()
	if err := applier.Apply(b.Context(), game); err != nil {
		b.Fatal(err)
	}
	build, size := time.Since(began), redisMemory(b, rdb)
	fill := startRun(b, applier)
	rolled(b, store, ledger)
	fill()
	b.ResetTimer()
	pings := ping(b, rdb)
	ledger.turn()
	stop := startRun(b, applier)
	rolled(b, store, ledger)
	took := b.Elapsed()
	stop()
	quantiles(b, pings())
	b.ReportMetric(took.Seconds(), "turn-s")
	b.ReportMetric(build.Seconds(), "build-s")
	b.ReportMetric(float64(size)/float64(*entries)/4, "B/entry") // in all, both boards of the window, and one day
}

func applierOptions(ledger lb.Ledger, store lb.Store) lb.ApplierOptions {
	return lb.ApplierOptions{
		Games: []lb.Config{config()}, Ledger: ledger, Store: store,
		Now: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler),
	}
}

// startRun runs an applier until the caller calls stop.
func startRun(b *testing.B, a *lb.Applier) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}

// rolled waits until the board that is not served is ready for the next turn.
func rolled(b *testing.B, store *redisstore.Boards, ledger *synthetic) {
	want := ledger.date(2 - window.Days())
	for {
		state, err := store.ServedState(b.Context(), game, config().Hash())
		if err != nil {
			b.Fatal(err)
		}
		r := state.Rolling[window]
		if other := 1 - r.Served; r.FirstDays[other] == want && r.Cursor[other] == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ping sends PING on its own connection every millisecond until the caller calls stop. stop
// returns the time of each reply.
func ping(b *testing.B, rdb *redis.Client) (stop func() []time.Duration) {
	ctx, cancel := context.WithCancel(b.Context())
	taken := make(chan []time.Duration, 1)
	go func() {
		conn := rdb.Conn()
		defer conn.Close()
		var all []time.Duration
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			began := time.Now()
			if conn.Ping(b.Context()).Err() == nil {
				all = append(all, time.Since(began))
			}
			<-tick.C
		}
		taken <- all
	}()
	return func() []time.Duration { cancel(); return <-taken }
}

func options(b *testing.B, url string) *redis.Options {
	o, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	o.ReadTimeout = time.Minute
	return o
}

// redisMemory returns the bytes that Redis uses for its data.
func redisMemory(b *testing.B, rdb *redis.Client) int64 {
	info, err := rdb.Info(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, "used_memory_dataset:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("INFO memory has no used_memory_dataset")
	return 0
}
