package bench_test

import (
	"context"
	"fmt"
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

// slow is the bound for the time of a script, in µs.
const slow = 5000

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
	alone(b, rdb)

	rdb.ConfigSet(b.Context(), "slowlog-log-slower-than", strconv.Itoa(slow))
	rdb.ConfigSet(b.Context(), "slowlog-max-len", "100000")
	readAll(b, rdb)
	resetStats(b, rdb)
	b.ResetTimer()
	pings, waits := ping(b, rdb), observe(b, rdb)
	ledger.turn()
	stop := startRun(b, applier)
	rolled(b, store, ledger)
	took := b.Elapsed()
	stop()
	quantiles(b, pings())
	b.ReportMetric(took.Seconds(), "turn-s")
	calls, spent := scripts(b, rdb)
	slower(b, rdb, waits(), "eval", "")
	repeat(b, rdb, redis.NewScript("for i = 1, ARGV[1] do end return 0"), nil, calls, spent, "idle-")
	repeat(b, rdb, redis.NewScript("for i = 1, ARGV[1] do redis.call('ZRANDMEMBER', KEYS[1]) end return 0"), largest(b, rdb), calls, spent, "reading-")
	b.ReportMetric(float64(calls), "scripts")
	b.ReportMetric(build.Seconds(), "build-s")
	b.ReportMetric(float64(size)/float64(*entries)/4, "B/entry") // in all, both boards of the window, and one day
}

func resetStats(b *testing.B, rdb *redis.Client) {
	for _, command := range [][]any{{"SLOWLOG", "RESET"}, {"CONFIG", "RESETSTAT"}} {
		if err := rdb.Do(b.Context(), command...).Err(); err != nil {
			b.Fatal(err)
		}
	}
}

// slower reports how many commands with this prefix took longer than slow by the wall
// clock. It also reports how many still did without the longest wait of Redis for a core at
// that time. The flag -v shows when, how long, and what delayed Redis.
func slower(b *testing.B, rdb *redis.Client, waits held, named, phase string) {
	all, err := rdb.SlowLogGet(b.Context(), -1).Result()
	if err != nil {
		b.Fatal(err)
	}
	slowOnes, own := 0, 0
	for _, one := range all {
		if !strings.HasPrefix(strings.ToLower(one.Args[0]), named) { // the list also contains commands that scripts have called
			b.Logf("%s: of it %s %s", one.Time.Format(time.TimeOnly), one.Args[0], one.Duration)
			continue
		}
		slowOnes++
		then := waits.at(one.Time.Unix())
		b.Logf("%s: %s%s took %s; %s", one.Time.Format(time.TimeOnly), phase, one.Args[0], one.Duration, then)
		if one.Duration-then.longest > slow*time.Microsecond {
			own++
		}
	}
	b.ReportMetric(float64(slowOnes), phase+"over-5ms")
	b.ReportMetric(float64(own), phase+"own-over-5ms")
}

// scripts returns the number of finished scripts and their total time.
func scripts(b *testing.B, rdb *redis.Client) (calls int, spent time.Duration) {
	info, err := rdb.InfoMap(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	var us int64
	for name, stats := range info["Commandstats"] {
		if strings.HasPrefix(name, "cmdstat_eval") {
			var n int
			var own int64
			if _, err := fmt.Sscanf(stats, "calls=%d,usec=%d,", &n, &own); err != nil {
				b.Fatal(err)
			}
			calls, us = calls+n, us+own
		}
	}
	return calls, time.Duration(us) * time.Microsecond
}

// repeat runs a script as often as the measured scripts, with the same total time. It
// chooses the number of steps for this, and reports the slow runs. If the script does
// nothing, or only reads random members, a slow run shows that the machine delayed it.
func repeat(b *testing.B, rdb *redis.Client, script *redis.Script, keys []string, calls int, spent time.Duration, phase string) {
	const sampleSteps = 10_000
	run := func(steps int) {
		if err := script.Run(b.Context(), rdb, keys, steps).Err(); err != nil {
			b.Fatal(err)
		}
	}
	run(sampleSteps)
	began := time.Now()
	for range 10 {
		run(sampleSteps)
	}
	steps := int(10 * sampleSteps * float64(spent) / float64(calls) / float64(time.Since(began)))
	resetStats(b, rdb)
	waits := observe(b, rdb)
	for range calls {
		run(steps)
	}
	slower(b, rdb, waits(), "eval", phase)
}

// readAll reads all sorted sets and hashes in small pieces. A slow piece shows a delay by
// memory that was not touched since it was written.
func readAll(b *testing.B, rdb *redis.Client) {
	resetStats(b, rdb)
	waits := observe(b, rdb)
	for kind, scan := range map[string]func(context.Context, string, uint64, string, int64) *redis.ScanCmd{"zset": rdb.ZScan, "hash": rdb.HScan} {
		keys := rdb.ScanType(b.Context(), 0, "", 1000, kind).Iterator()
		for keys.Next(b.Context()) {
			for cursor, first := uint64(0), true; first || cursor != 0; first = false {
				var err error
				if _, cursor, err = scan(b.Context(), keys.Val(), cursor, "", 200).Result(); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := keys.Err(); err != nil {
			b.Fatal(err)
		}
	}
	slower(b, rdb, waits(), "", "first-read-")
}

// largest returns the sorted set with the most members.
func largest(b *testing.B, rdb *redis.Client) []string {
	var key string
	var most int64
	all := rdb.ScanType(b.Context(), 0, "", 1000, "zset").Iterator()
	for all.Next(b.Context()) {
		n, err := rdb.ZCard(b.Context(), all.Val()).Result()
		if err != nil {
			b.Fatal(err)
		}
		if n > most {
			key, most = all.Val(), n
		}
	}
	if all.Err() != nil || key == "" {
		b.Fatalf("no sorted set: %v", all.Err())
	}
	return []string{key}
}

// BenchmarkNaiveRoll removes the same day from a plain sorted set in one command, which is
// the usual way.
func BenchmarkNaiveRoll(b *testing.B) {
	rdb := redis.NewClient(options(b, testenv.Redis(b).URL))
	defer rdb.Close()
	for from := 0; from < *entries; from += 1000 {
		pipe := rdb.Pipeline()
		for i := from; i < min(from+1000, *entries); i++ {
			z := redis.Z{Score: float64(i * 7919 % 5000), Member: player(i)}
			pipe.ZAdd(b.Context(), "rolling", z)
			if i%window.Days() == 0 {
				pipe.ZAdd(b.Context(), "leaving", z)
			}
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	pings := ping(b, rdb)
	union := &redis.ZStore{Keys: []string{"rolling", "leaving"}, Weights: []float64{1, -1}}
	if err := rdb.ZUnionStore(b.Context(), "rolling", union).Err(); err != nil {
		b.Fatal(err)
	}
	took := b.Elapsed()
	quantiles(b, pings())
	b.ReportMetric(took.Seconds(), "turn-s")
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
