package redismatch

import (
	"context"
	"sync"
	"time"

	"laststand/internal/match"
)

const (
	// mostTogether bounds the attempts of one script, which takes some 10 µs for
	// each.
	maxBatch = 64
	// togetherWithin bounds a script of attempts that have waited.
	batchTimeout = 5 * time.Second
)

// batcher let the attempts of each match go to Redis one script at a time: those
// that come while one is under way wait, and go together with the next. So who
// comes alone waits for nobody, and of many the state of the match is read and
// written once.
type batcher struct {
	send func(context.Context, []*pendingAttempt) error // sets out of each

	mu      sync.Mutex
	pending map[string][]*pendingAttempt // by match; there while a script is under way
}

// pendingAttempt is an attempt that waits for its outcome.
type pendingAttempt struct {
	*match.Attempt
	ctx  context.Context //nolint:containedctx // of the one who waits; nobody else's
	done chan error      // tells that out is set, or what went wrong; nil of the first
	out  match.Outcome
}

// commit has an attempt judged. Whose context ends is let go, though the script
// may run yet.
func (q *batcher) commit(ctx context.Context, a *match.Attempt) (match.Outcome, error) {
	w := &pendingAttempt{Attempt: a, ctx: ctx}
	if !q.enqueue(w) {
		defer q.drain(a.Match)
		err := q.send(ctx, []*pendingAttempt{w})
		return w.out, err
	}
	select {
	case err := <-w.done:
		return w.out, err
	case <-ctx.Done():
		return match.Outcome{}, ctx.Err()
	}
}

// enqueue queues an attempt behind the script of its match that is under way; false
// where none is, so that it has to be sent.
func (q *batcher) enqueue(w *pendingAttempt) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	others, busy := q.pending[w.Match]
	if busy {
		w.done = make(chan error, 1) // who has given up does not take it
		others = append(others, w)
	}
	q.pending[w.Match] = others
	return busy
}

// drain sends what has come while a script was under way, in a goroutine that
// ends when nobody waits: each script is bounded.
func (q *batcher) drain(id string) {
	if batch := q.nextBatch(id); batch != nil {
		go func() {
			for ; batch != nil; batch = q.nextBatch(id) {
				q.sendBatch(batch)
			}
		}()
	}
}

func (q *batcher) sendBatch(batch []*pendingAttempt) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	err := q.send(ctx, batch)
	for _, w := range batch {
		w.done <- err
	}
}

// nextBatch takes those who go together: one attempt of a player, and none that nobody
// waits for any more. Nil where there is none: the next to come is the first.
func (q *batcher) nextBatch(id string) (batch []*pendingAttempt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var later []*pendingAttempt
	all := q.pending[id]
	players := make(map[string]bool, min(len(all), maxBatch))
	for i, w := range all {
		if len(batch) == maxBatch {
			later = append(later, all[i:]...)
			break
		}
		switch {
		case w.ctx.Err() != nil:
		case players[w.Record.Player]:
			later = append(later, w)
		default:
			players[w.Record.Player] = true
			batch = append(batch, w)
		}
	}
	q.pending[id] = later
	if batch == nil {
		delete(q.pending, id)
	}
	return batch
}
