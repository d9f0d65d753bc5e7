package ledger

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"laststand/internal/match"
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
			batch[i] = duel(fmt.Sprint("m", n), int64(n), ids[n*2%len(ids)], ids[(n*2+1)%len(ids)])
			for j := range batch[i].Standings {
				batch[i].Standings[j].Rating = &match.RatingChange{Before: ratingOf(1500), After: ratingOf(1510.5)}
			}
			n++
		}
		if _, err := l.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "results/s")
}

func benchCommitArena(b *testing.B, l *Ledger, ids []string) {
	n := 0
	for b.Loop() {
		n++
		if _, err := l.Commit(b.Context(), results(duel(fmt.Sprint("arena", n), int64(n), ids...))); err != nil {
			b.Fatal(err)
		}
	}
}
