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
	b.Run("sqlite", func(b *testing.B) { benchCommit(b, Config{Dir: b.TempDir()}) })
	if url := os.Getenv("LASTSTAND_BENCH_DATABASE"); url != "" {
		b.Run("postgres", func(b *testing.B) { benchCommit(b, Config{URL: url}) })
	}
}

func benchCommit(b *testing.B, c Config) {
	const size, players = 256, 10_000
	c.Logger = slog.New(slog.DiscardHandler)
	l, err := Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	ids := names("p", players)
	for _, id := range ids {
		addPlayer(b, l, id)
	}
	n := 0
	for b.Loop() {
		batch := make([]match.Result, size)
		for i := range batch {
			batch[i] = duel(fmt.Sprint("m", n), int64(n), ids[n*2%players], ids[(n*2+1)%players])
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
