package settle

import (
	"context"

	"laststand/internal/match"
)

// enqueueForLeaderboards queues a settled result in its game's outbox. There it
// waits for the leaderboards without holding up the ledger or another game. If the
// outbox is full, the players are not notified, which is counted. The leaderboards
// still get the result when they apply the ledger.
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

// runOutbox applies the game's ledger to the leaderboards for the results in the
// outbox, then notifies the players. It ends when the outbox is closed and empty.
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

// applyLeaderboards applies the game's ledger to the leaderboards. It retries until
// that succeeds or the work context ends, and reports whether it succeeded.
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
