package settle

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/timer"
)

const outboxSize = 4096 // highest number of results per game that wait for its leaderboards

// notifier notifies the players of settled results once the leaderboards show them. Each
// game has an outbox and a worker, so that games do not hold up the ledger or each other.
type notifier struct {
	config   *Config
	metrics  *metrics
	outboxes map[string]chan match.Result // by game
	workers  sync.WaitGroup
}

// enqueue queues a settled result in its game's outbox. If the outbox is full, that is
// counted. The nodes of the players then find the mark of the match, and the leaderboards
// still get the result when they apply the ledger.
func (n *notifier) enqueue(workCtx context.Context, result match.Result) {
	outbox, ok := n.outboxes[result.Game]
	if !ok {
		outbox = make(chan match.Result, outboxSize)
		n.outboxes[result.Game] = outbox
		n.workers.Go(func() { n.runOutbox(workCtx, result.Game, outbox) }) // close waits for it
	}
	select {
	case outbox <- result:
	default:
		n.metrics.countFailures(reasonNotification, 1)
	}
}

// close waits until the queued results are notified or the context of their work ends.
func (n *notifier) close() {
	for _, outbox := range n.outboxes {
		close(outbox)
	}
	n.workers.Wait()
}

// runOutbox applies the game's ledger to the leaderboards for the results in the
// outbox, then notifies the players. It ends when the outbox is closed and empty.
func (n *notifier) runOutbox(workCtx context.Context, game string, outbox <-chan match.Result) {
	for result := range outbox {
		batch := []match.Result{result}
		for len(outbox) > 0 && len(batch) < n.config.BatchSize {
			batch = append(batch, <-outbox)
		}
		if !n.applyLeaderboards(workCtx, game) {
			n.metrics.countFailures(reasonNotification, len(batch))
			continue
		}
		ctx, cancel := context.WithTimeout(workCtx, callTimeout)
		n.config.Notify(ctx, batch)
		cancel()
	}
}

// applyLeaderboards applies the game's ledger to the leaderboards. It retries until
// that succeeds or the work context ends, and reports whether it succeeded. A game that was removed
// from the configuration has no leaderboards.
func (n *notifier) applyLeaderboards(workCtx context.Context, game string) bool {
	var wait backoff
	for workCtx.Err() == nil {
		ctx, cancel := context.WithTimeout(workCtx, callTimeout)
		err := n.config.Leaderboards.Apply(ctx, game)
		cancel()
		if err == nil {
			return true
		}
		n.metrics.countFailures(reasonLeaderboards, 1)
		if errors.Is(err, leaderboard.ErrNoGame) {
			n.config.Logger.Warn("results of a game that is not configured are in the ledger only", "game", game)
			return false
		}
		if wait == 0 {
			n.config.Logger.Warn("leaderboard apply failed; the server notifies the players after the next apply", "game", game, "error", err)
		}
		timer.Sleep(workCtx, wait.next())
	}
	return false
}

const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// backoff returns growing delays between attempts. It doubles from firstBackoff to
// maxBackoff. Each delay is random, from its upper half, so that nodes do not retry at the
// same time. The zero value is ready.
type backoff time.Duration

func (b *backoff) next() time.Duration {
	*b = min(max(backoff(firstBackoff), 2**b), backoff(maxBackoff))
	return time.Duration(*b/2 + rand.N(*b/2)) //nolint:gosec // a wait is no secret
}
