package ledger

import (
	"testing"
	"time"

	"laststand/internal/testenv"
)

// BenchmarkSaveAnswers stores the 300,000 answers of a match of 10,000 players and 30
// questions, on SQLite and PostgreSQL. Each transaction has as many as those of
// answers.Saver.
func BenchmarkSaveAnswers(b *testing.B) {
	for name, config := range map[string]func(b *testing.B) Config{
		"sqlite":   func(b *testing.B) Config { return Config{Dir: b.TempDir()} },
		"postgres": func(b *testing.B) Config { return Config{URL: testenv.Postgres(b).URL} },
	} {
		b.Run(name, func(b *testing.B) {
			l := openConfig(b, config(b))
			var numbers []int
			for range 30 {
				numbers = append(numbers, 1)
			}
			p := newPlayedMatch("m", 1_795_000_000_000, names("p", 10_000), numbers...)
			n, began := 0, time.Now()
			for b.Loop() {
				for from := 0; from < len(p.blocks); from += 7 {
					blocks := p.blocks[from:min(from+7, len(p.blocks))]
					for i := range blocks {
						blocks[i].OverAt++
						n += len(blocks[i].Answers)
					}
					testenv.NoError(b, l.Answers.SaveBlocks(b.Context(), blocks))
				}
			}
			b.ReportMetric(float64(n)/time.Since(began).Seconds(), "answers/s")
		})
	}
}
