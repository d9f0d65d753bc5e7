package settle

import (
	"context"

	"laststand/internal/match"
)

// enqueueForLeaderboards queues a settled result in its game's outbox. There it
// waits for the leaderboards without holding up the ledger or another game. If the
// outbox is full, the players are not notified, which is counted. The leaderboards
// still get the result when they apply the ledger.
func (s *Service) enqueueForLeaderboards(workCtx context.Context, result match.Result) {
	outbox, ok := s.outboxes[result.Game]
	if !ok {
		outboxChan := make(chan match.Result, s.LeaderboardQueue)
		outbox, s.outboxes[result.Game] = outboxChan, outboxChan
		s.outboxWorkers.Go(func() { s.runOutbox(workCtx, result.Game, outboxChan) }) // Run waits for it
	}
	select {
	case outbox <- result:
	default:
		s.metrics.countFailures(reasonNotification, 1)
	}
}

// runOutbox applies the game's ledger to the leaderboards for the results in the
// outbox, then notifies the players. It ends when the outbox is closed and empty.
func (s *Service) runOutbox(workCtx context.Context, game string, outbox <-chan match.Result) {
	for result := range outbox {
		batch := []match.Result{result}
		for len(outbox) > 0 && len(batch) < s.BatchSize {
			batch = append(batch, <-outbox)
		}
		if !s.applyLeaderboards(workCtx, game) {
			s.metrics.countFailures(reasonNotification, len(batch))
			continue
		}
		for _, result := range batch {
			s.notifyPlayers(workCtx, result)
		}
	}
}

// applyLeaderboards applies the game's ledger to the leaderboards. It retries until
// that succeeds or the work context ends, and reports whether it succeeded.
func (s *Service) applyLeaderboards(workCtx context.Context, game string) bool {
	var wait backoff
	for workCtx.Err() == nil {
		err := s.applyLeaderboardsOnce(workCtx, game)
		if err == nil {
			return true
		}
		s.metrics.countFailures(reasonLeaderboards, 1)
		if wait.last == 0 {
			s.Logger.Warn("leaderboard apply failed; the server notifies the players after the next apply", "game", game, "error", err)
		}
		sleep(workCtx, wait.next())
	}
	return false
}

func (s *Service) applyLeaderboardsOnce(workCtx context.Context, game string) error {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	return s.Leaderboards.Apply(ctx, game)
}

func (s *Service) notifyPlayers(workCtx context.Context, result match.Result) {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	s.Notify(ctx, result)
}
