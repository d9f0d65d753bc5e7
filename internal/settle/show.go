package settle

import (
	"context"

	"laststand/internal/match"
)

// show hands a settled result to its game's shelf, where it waits for the
// boards without holding up the ledger or another game. A full shelf means that
// its players are not told, which is counted; the boards have the result all
// the same once they apply the ledger.
func (s *Settler) show(work context.Context, r match.Result) {
	shelf, ok := s.shelves[r.Game]
	if !ok {
		c := make(chan match.Result, s.Shelf)
		shelf, s.shelves[r.Game] = c, c
		s.showing.Go(func() { s.tend(work, r.Game, c) }) // Run waits for it
	}
	select {
	case shelf <- r:
	default:
		s.metrics.failed(reasonUntold, 1)
	}
}

// tend applies the game's ledger to the boards for what is on the shelf, then
// tells of it, until the shelf is closed and empty.
func (s *Settler) tend(work context.Context, game string, shelf <-chan match.Result) {
	for r := range shelf {
		batch := []match.Result{r}
		for len(shelf) > 0 && len(batch) < s.Batch {
			batch = append(batch, <-shelf)
		}
		if !s.apply(work, game) {
			s.metrics.failed(reasonUntold, len(batch))
			continue
		}
		for _, r := range batch {
			s.tell(work, r)
		}
	}
}

// apply brings the boards up to date, again and again until the work's time is
// over.
func (s *Settler) apply(work context.Context, game string) bool {
	var wait backoff
	for work.Err() == nil {
		err := s.applyOnce(work, game)
		if err == nil {
			return true
		}
		s.metrics.failed(reasonBoards, 1)
		if wait.last == 0 {
			s.Logger.Warn("leaderboard apply failed; the server notifies the players after the next apply", "game", game, "error", err)
		}
		pause(work, wait.next())
	}
	return false
}

func (s *Settler) applyOnce(work context.Context, game string) error {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	return s.Boards.Apply(ctx, game)
}

func (s *Settler) tell(work context.Context, r match.Result) {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	s.Tell(ctx, r)
}
