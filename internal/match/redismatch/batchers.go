package redismatch

import (
	"context"
	"sync"
	"time"

	"laststand/internal/match"
	"laststand/internal/timer"
)

const (
	// maxBatch limits the attempts of one script, which needs about 10 µs for each.
	maxBatch = 64
	// batchTimeout limits the duration of a script.
	batchTimeout = 5 * time.Second
)

// batchers send the attempts of each match to Redis together. Attempts that arrive while a
// script runs share the next one, so many answers read and write the state of the match once.
// A match has a batcher while callers wait for it.
type batchers struct {
	send func(context.Context, []*pendingAttempt) error // runs a script and sets the outcome of each attempt

	mu      sync.Mutex
	byMatch map[string]*matchBatcher
}

type matchBatcher struct {
	timer.Batcher[*pendingAttempt]
	callers int // guarded by batchers.mu
}

// pendingAttempt is an attempt that waits for its outcome.
type pendingAttempt struct {
	*match.Attempt
	outcome match.Outcome
	err     error // of its script
}

// commit judges an attempt. If ctx ends, commit returns, though the script may still run.
func (b *batchers) commit(ctx context.Context, attempt *match.Attempt) (match.Outcome, error) {
	batcher := b.enter(attempt.Match)
	defer b.leave(attempt.Match, batcher)
	pending := &pendingAttempt{Attempt: attempt}
	if err := batcher.Do(ctx, pending); err != nil {
		return match.Outcome{}, err
	}
	return pending.outcome, pending.err
}

func (b *batchers) enter(id string) *matchBatcher {
	b.mu.Lock()
	defer b.mu.Unlock()
	batcher := b.byMatch[id]
	if batcher == nil {
		batcher = &matchBatcher{Batcher: timer.Batcher[*pendingAttempt]{Run: b.run, MaxBatch: maxBatch, Workers: 1, Timeout: batchTimeout}}
		b.byMatch[id] = batcher
	}
	batcher.callers++
	return batcher
}

func (b *batchers) leave(id string, batcher *matchBatcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if batcher.callers--; batcher.callers == 0 {
		delete(b.byMatch, id)
	}
}

// run sends a batch. A player's second attempt in it goes into another script, because a
// script reads the state of all players first.
func (b *batchers) run(ctx context.Context, batch []*pendingAttempt) error {
	for len(batch) > 0 {
		var first, later []*pendingAttempt
		players := make(map[string]bool, len(batch))
		for _, pending := range batch {
			if players[pending.Record.Player] {
				later = append(later, pending)
				continue
			}
			players[pending.Record.Player] = true
			first = append(first, pending)
		}
		err := b.send(ctx, first)
		for _, pending := range first {
			pending.err = err
		}
		batch = later
	}
	return nil
}
