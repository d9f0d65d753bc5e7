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
	mostTogether = 64
	// togetherWithin bounds a script of attempts that have waited.
	togetherWithin = 5 * time.Second
)

// queues let the attempts of each match go to Redis one script at a time: those
// that come while one is under way wait, and go together with the next. So who
// comes alone waits for nobody, and of many the state of the match is read and
// written once.
type queues struct {
	send func(context.Context, []*waiting) error // sets out of each

	mu      sync.Mutex
	waiting map[string][]*waiting // by match; there while a script is under way
}

// waiting is an attempt that waits for its outcome.
type waiting struct {
	*match.Attempt
	ctx  context.Context //nolint:containedctx // of the one who waits; nobody else's
	done chan error      // tells that out is set, or what went wrong; nil of the first
	out  match.Outcome
}

// commit has an attempt judged. Whose context ends is let go, though the script
// may run yet.
func (q *queues) commit(ctx context.Context, a *match.Attempt) (match.Outcome, error) {
	w := &waiting{Attempt: a, ctx: ctx}
	if !q.join(w) {
		defer q.goOn(a.Match)
		err := q.send(ctx, []*waiting{w})
		return w.out, err
	}
	select {
	case err := <-w.done:
		return w.out, err
	case <-ctx.Done():
		return match.Outcome{}, ctx.Err()
	}
}

// join queues an attempt behind the script of its match that is under way; false
// where none is, so that it has to be sent.
func (q *queues) join(w *waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	others, busy := q.waiting[w.Match]
	if busy {
		w.done = make(chan error, 1) // who has given up does not take it
		others = append(others, w)
	}
	q.waiting[w.Match] = others
	return busy
}

// goOn sends what has come while a script was under way, in a goroutine that
// ends when nobody waits: each script is bounded.
func (q *queues) goOn(id string) {
	if batch := q.next(id); batch != nil {
		go func() {
			for ; batch != nil; batch = q.next(id) {
				q.sendAll(batch)
			}
		}()
	}
}

func (q *queues) sendAll(batch []*waiting) {
	ctx, cancel := context.WithTimeout(context.Background(), togetherWithin)
	defer cancel()
	err := q.send(ctx, batch)
	for _, w := range batch {
		w.done <- err
	}
}

// next takes those who go together: one attempt of a player, and none that nobody
// waits for any more. Nil where there is none: the next to come is the first.
func (q *queues) next(id string) (batch []*waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var later []*waiting
	all := q.waiting[id]
	players := make(map[string]bool, min(len(all), mostTogether))
	for i, w := range all {
		if len(batch) == mostTogether {
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
	q.waiting[id] = later
	if batch == nil {
		delete(q.waiting, id)
	}
	return batch
}
