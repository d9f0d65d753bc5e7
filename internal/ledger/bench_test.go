package ledger

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// BenchmarkCommit commits batches of 256 rated duels among 10,000 players, on
// SQLite, and on PostgreSQL where LASTSTAND_BENCH_DATABASE names an empty one.
func BenchmarkCommit(b *testing.B) {
	eachBenched(b, benchCommit)
}

// BenchmarkCommitArena commits one match of 10,000 players at a time.
func BenchmarkCommitArena(b *testing.B) {
	eachBenched(b, benchCommitArena)
}

// BenchmarkGuests registers b.N new players, 1, 64 and 1,024 at a time. It compares this
// with separate transactions, which run at the same time without limit. Both databases are
// on disk. The variant own has players of an operator's login service.
func BenchmarkGuests(b *testing.B) {
	for name, config := range map[string]func(b *testing.B) Config{
		"sqlite":   func(b *testing.B) Config { return Config{Dir: b.TempDir()} },
		"postgres": func(b *testing.B) Config { return Config{URL: testenv.Postgres(b).URL} },
	} {
		b.Run(name, func(b *testing.B) {
			l := openConfig(b, config(b))
			for _, way := range []string{"together", "each"} {
				if way == "each" {
					l.Players.registrations.Workers = 1 << 20 // no registration waits
				}
				for _, atOnce := range []int{1, 64, 1024} {
					for kind, device := range map[string]string{"guests": "device ", "own": ""} {
						b.Run(fmt.Sprintf("%s/%d/%s", kind, atOnce, way), func(b *testing.B) { benchGuests(b, l, device, atOnce) })
					}
				}
			}
		})
	}
}

var benchGuest atomic.Int64 // number of guests in all runs, for unique ids

func benchGuests(b *testing.B, l *Ledger, device string, atOnce int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, atOnce)
	b.ResetTimer()
	runConcurrently(atOnce, func(i int) {
		for left.Add(-1) >= 0 {
			id := fmt.Sprintf("p_%012d", benchGuest.Add(1)*7_919_317%1_000_000_007)
			p, began := guest(id, "", id), time.Now()
			if device != "" {
				p.DeviceHash = device + id
			}
			if _, isNew, err := l.createAny(b.Context(), p); err != nil || !isNew {
				b.Errorf("%s: %v, %v", id, isNew, err)
				return
			}
			took[i] = append(took[i], time.Since(began))
		}
	})
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "players/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}

const benchPlayers = 10_000

func eachBenched(b *testing.B, f func(b *testing.B, l *Ledger, players []string)) {
	on := func(c Config) func(b *testing.B) {
		return func(b *testing.B) {
			c.Dir, c.Logger = b.TempDir(), slog.New(slog.DiscardHandler)
			l, err := Open(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			ids := names("p", benchPlayers)
			for _, id := range ids {
				addPlayer(b, l, id)
			}
			f(b, l, ids)
		}
	}
	b.Run("sqlite", on(Config{}))
	if url := os.Getenv("LASTSTAND_BENCH_DATABASE"); url != "" {
		b.Run("postgres", on(Config{URL: url}))
	}
}

func benchCommit(b *testing.B, l *Ledger, ids []string) {
	const size = 256
	n := 0
	for b.Loop() {
		batch := make([]match.Result, size)
		for i := range batch {
			batch[i] = ratedDuel(fmt.Sprint("m", n), int64(n), ids[n*2%len(ids)], ids[(n*2+1)%len(ids)])
			n++
		}
		if _, err := l.Results.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "results/s")
}

func benchCommitArena(b *testing.B, l *Ledger, ids []string) {
	n := 0
	for b.Loop() {
		n++
		if _, err := l.Results.Commit(b.Context(), results(duel(fmt.Sprint("arena", n), int64(n), ids...))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNicknames reads the nicknames of random players among 200,000: as many as the
// leaderboard requests for one player, for the players around it, and for a page need.
func BenchmarkNicknames(b *testing.B) {
	const players = 200_000
	l, err := Open(b.Context(), Config{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	_, err = l.exec(b.Context(), `
INSERT INTO players (game, id, nickname, skeleton, named_at, joined_at)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i+1 < $1)
SELECT 'g', 'p_' || (1000000000000 + i), 'Player ' || i, 'player ' || i, 1, 1 FROM n`, players)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			ids := make([]string, n)
			for b.Loop() {
				for i := range ids {
					ids[i] = fmt.Sprintf("p_%d", 1_000_000_000_000+rand.IntN(players))
				}
				if found, err := l.Names.Nicknames(b.Context(), "g", ids); err != nil || len(found) == 0 {
					b.Fatal(found, err)
				}
			}
		})
	}
}
