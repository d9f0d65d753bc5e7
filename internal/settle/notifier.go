package settle

import (
	"context"
	"errors"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/timer"
)

const outboxSize = 4096 // highest number of results per game that wait for its leaderboards

// callBackoff limits the waits between the attempts to reach the ledger or the leaderboards.
var callBackoff = taskqueue.Backoff{First: 100 * time.Millisecond, Max: 5 * time.Second}

// notify queues a settled result, whose players are notified once the leaderboards show it. Each
// game has an outbox and a worker, so that games do not hold up the ledger or each other. If the
// outbox is full, that is counted. The nodes of the players then find the mark of the match, and
// the leaderboards still get the result when they apply the ledger.
func (s *Service) notify(workCtx context.Context, result match.Result) {
	outbox, ok := s.outboxes[result.Game]
	if !ok {
		outbox = make(chan match.Result, outboxSize)
		s.outboxes[result.Game] = outbox
		s.outboxWorkers.Go(func() { s.runOutbox(workCtx, result.Game, outbox) }) // closeOutboxes waits for it
	}
	select {
	case outbox <- result:
	default:
		s.metrics.countFailures(reasonNotification, 1)
	}
}

// closeOutboxes waits until the queued results are notified or the context of their work ends.
func (s *Service) closeOutboxes() {
	for _, outbox := range s.outboxes {
		close(outbox)
	}
	s.outboxWorkers.Wait()
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
		ctx, cancel := context.WithTimeout(workCtx, callTimeout)
		s.Notify(ctx, batch)
		cancel()
	}
}

// applyLeaderboards applies the game's ledger to the leaderboards. It retries until
// that succeeds or the work context ends, and reports whether it succeeded. A game that was removed
// from the configuration has no leaderboards.
func (s *Service) applyLeaderboards(workCtx context.Context, game string) bool {
	for attempts := int64(1); workCtx.Err() == nil; attempts++ {
		ctx, cancel := context.WithTimeout(workCtx, callTimeout)
		err := s.Leaderboards.Apply(ctx, game)
		cancel()
		if err == nil {
			return true
		}
		s.metrics.countFailures(reasonLeaderboards, 1)
		if errors.Is(err, leaderboard.ErrNoGame) {
			s.Logger.Warn("results of a game that is not configured are in the ledger only", "game", game)
			return false
		}
		if attempts == 1 {
			s.Logger.Warn("leaderboard apply failed; the server notifies the players after the next apply", "game", game, "error", err)
		}
		timer.Sleep(workCtx, callBackoff.RandomWait(attempts))
	}
	return false
}
