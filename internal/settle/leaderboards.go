package settle

import (
	"context"

	"laststand/internal/match"
)

// show hands a settled result to its game's shelf, where it waits for the
// boards without holding up the ledger or another game. A full shelf means that
// its players are not told, which is counted; the boards have the result all
// the same once they apply the ledger.
func (s *Settler) enqueueForLeaderboards(work context.Context, r match.Result) {
	outbox, ok := s.outboxes[r.Game]
	if !ok {
		c := make(chan match.Result, s.LeaderboardQueue)
		outbox, s.outboxes[r.Game] = c, c
		s.running.Go(func() { s.runOutbox(work, r.Game, c) }) // Run waits for it
	}
	select {
	case outbox <- r:
	default:
		s.metrics.countFailures(reasonNotification, 1)
	}
}

// tend applies the game's ledger to the boards for what is on the shelf, then
// tells of it, until the shelf is closed and empty.
func (s *Settler) runOutbox(work context.Context, game string, outbox <-chan match.Result) {
	for r := range outbox {
		batch := []match.Result{r}
		for len(outbox) > 0 && len(batch) < s.BatchSize {
			batch = append(batch, <-outbox)
		}
		if !s.apply(work, game) {
			s.metrics.countFailures(reasonNotification, len(batch))
			continue
		}
		for _, r := range batch {
			s.notify(work, r)
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
		s.metrics.countFailures(reasonLeaderboards, 1)
		if wait.last == 0 {
			s.Logger.Warn("leaderboard apply failed; the server notifies the players after the next apply", "game", game, "error", err)
		}
		sleep(work, wait.next())
	}
	return false
}

func (s *Settler) applyOnce(work context.Context, game string) error {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	return s.Leaderboards.Apply(ctx, game)
}

func (s *Settler) notify(work context.Context, r match.Result) {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	s.Notify(ctx, r)
}
