package bench_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	lb "laststand/internal/leaderboard"
)

// window is the measured rolling window.
const window lb.Window = "10d"

// config configures two rankings. The value is the score.
func config() lb.Config {
	return lb.Config{
		Game: game, Windows: []lb.Window{lb.All, lb.Day, window}, Orders: []lb.Order{lb.ByValue, lb.ByTime},
		Weights: lb.DefaultWeights, MinAnswers: 1, Location: time.UTC,
	}
}

// synthetic is the ledger of a game. Each player has played once, on one of the window's
// days, and each day has equally many players.
type synthetic struct {
	players int
	today   time.Time

	mu   sync.Mutex
	tail []lb.Row // from the last row of the snapshot
}

func newSynthetic(players int) *synthetic {
	s := &synthetic{players: players, today: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
	s.tail = []lb.Row{{Pos: int64(players) + 1, ID: "last", Kind: lb.ResultRow, Day: s.date(0)}}
	return s
}

func (s *synthetic) date(ahead int) string { return s.today.AddDate(0, 0, ahead).Format(time.DateOnly) }

// turn ends the day.
func (s *synthetic) turn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.today = s.today.AddDate(0, 0, 1)
	last := s.tail[len(s.tail)-1]
	s.tail = append(s.tail, lb.Row{Pos: last.Pos + 1, ID: "turn", Kind: lb.DayStartRow, Day: s.date(0), CommittedAt: 1})
}

func (s *synthetic) Epoch() string { return "synthetic" }

func (s *synthetic) ReadRows(_ context.Context, _ string, after int64, limit int) ([]lb.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := max(0, min(int(after-s.tail[0].Pos)+1, len(s.tail)))
	return slices.Clone(s.tail[from:min(from+limit, len(s.tail))]), nil
}

func (s *synthetic) Snapshot(_ context.Context, _ string, work func(lb.Snapshot) error) error {
	last := s.tail[0]
	return work(lb.Snapshot{
		Watermark: lb.Watermark{Epoch: s.Epoch(), Pos: last.Pos, RowID: last.ID, Day: last.Day},
		FirstDay:  s.date(1 - window.Days()), Sums: s.sums(),
	})
}

func (s *synthetic) sums() iter.Seq2[lb.DaySum, error] {
	days := make([]string, window.Days())
	for i := range days {
		days[i] = s.date(-i)
	}
	return func(yield func(lb.DaySum, error) bool) {
		for i := range s.players {
			sum := lb.DaySum{
				HolderKind: lb.Players, Holder: player(i), Day: days[i%len(days)], Newest: int64(i) + 1, CommittedAt: 1,
				Aggregates: lb.Aggregates{Score: int64(i*7919%5000) + 1, TimeMS: int64(i * 31 % 150_000), LimitMS: 150_000, Matches: 1, Asked: 10, Answered: 10, Correct: 5},
			}
			if !yield(sum, nil) {
				return
			}
		}
	}
}

func player(i int) string { return fmt.Sprintf("p_%012d", i) }

func (s *synthetic) HasDaySums(context.Context, string, string) (bool, error) { return true, nil }

// ReadHolders returns nothing, because this benchmark does not verify the board.
func (s *synthetic) ReadHolders(context.Context, string, lb.Kind, string, int) ([]string, error) {
	return nil, nil
}

func (s *synthetic) ReadSums(context.Context, string, int64, lb.Kind, []string) ([]lb.DaySum, error) {
	return nil, nil
}

func (s *synthetic) ReadMovingPlayers(context.Context, string, int64) ([]string, error) {
	return nil, nil
}
