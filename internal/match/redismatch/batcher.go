package redismatch

import (
	"context"
	"sync"
	"time"

	"laststand/internal/match"
)

const (
	// maxBatch limits the attempts of one script, which needs about 10 µs for
	// each.
	maxBatch = 64
	// batchTimeout limits the duration of a script that drain sends.
	batchTimeout = 5 * time.Second
)

// batcher sends the attempts of each match to Redis one script at a time.
// Attempts that arrive while a script runs wait and share the next script. A
// single answer never waits, and many answers read and write the state of the
// match once.
//
// Example: answers A, B and C arrive within 1 ms. A is sent immediately. B and C
// wait until the reply to A and are then sent in one script.
type batcher struct {
	sendAttempts func(context.Context, []*pendingAttempt) error // runs one script and sets the outcome of each attempt

	mu      sync.Mutex
	pending map[string][]*pendingAttempt // by match; the entry exists while a script of the match runs
}

// pendingAttempt is an attempt that waits for its outcome.
type pendingAttempt struct {
	*match.Attempt
	ctx     context.Context //nolint:containedctx // of the caller that waits for this attempt
	done    chan error      // receives nil when outcome is set, or an error; nil for the first attempt
	outcome match.Outcome
}

// commit judges an attempt. If ctx ends, commit returns, though the script may
// still run.
func (b *batcher) commit(ctx context.Context, attempt *match.Attempt) (match.Outcome, error) {
	pending := &pendingAttempt{Attempt: attempt, ctx: ctx}
	if !b.enqueue(pending) {
		defer b.drain(attempt.Match)
		err := b.sendAttempts(ctx, []*pendingAttempt{pending})
		return pending.outcome, err
	}
	select {
	case err := <-pending.done:
		return pending.outcome, err
	case <-ctx.Done():
		return match.Outcome{}, ctx.Err()
	}
}

// enqueue adds an attempt to those that wait for the running script of its
// match. It returns false if no script runs; then the caller must send the
// attempt.
func (b *batcher) enqueue(pending *pendingAttempt) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	others, busy := b.pending[pending.Match]
	if busy {
		pending.done = make(chan error, 1) // buffered: the receiver may have given up
		others = append(others, pending)
	}
	b.pending[pending.Match] = others
	return busy
}

// drain sends what arrived during a script, in a goroutine that ends when
// nothing waits. Each script has a timeout.
func (b *batcher) drain(id string) {
	if batch := b.nextBatch(id); batch != nil {
		go func() {
			for ; batch != nil; batch = b.nextBatch(id) {
				b.sendBatch(batch)
			}
		}()
	}
}

func (b *batcher) sendBatch(batch []*pendingAttempt) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	err := b.sendAttempts(ctx, batch)
	for _, pending := range batch {
		pending.done <- err
	}
}

// nextBatch takes the attempts for the next script: at most one per player, and
// none whose caller has given up. If no attempt waits, it returns nil; the next
// attempt of the match is then sent immediately.
func (b *batcher) nextBatch(id string) (batch []*pendingAttempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var later []*pendingAttempt
	attempts := b.pending[id]
	players := make(map[string]bool, min(len(attempts), maxBatch))
	for i, pending := range attempts {
		if len(batch) == maxBatch {
			later = append(later, attempts[i:]...)
			break
		}
		switch {
		case pending.ctx.Err() != nil:
		case players[pending.Record.Player]:
			later = append(later, pending)
		default:
			players[pending.Record.Player] = true
			batch = append(batch, pending)
		}
	}
	b.pending[id] = later
	if batch == nil {
		delete(b.pending, id)
	}
	return batch
}
