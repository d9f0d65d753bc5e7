package ops

import (
	"context"
	"errors"
	"net/http"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/protocol"
)

const (
	// drainWithin is how long it is waited for a queue to become empty.
	drainWithin = 20 * time.Second
	// discardStep is how many items are dropped in one step of the store.
	discardStep = 1000
)

// drain asks for a queue to be emptied: to be sent now, or to be dropped.
type drain struct {
	Discard bool `json:"discard,omitempty"`
}

// drained is a queue after that.
type drained struct {
	queue
	Discarded int64 `json:"discarded"`
}

func (a *api) drainQueue(w http.ResponseWriter, r *request) error {
	var body drain
	if r.ContentLength != 0 {
		if err := readObject(w, r.Request, &body); err != nil {
			return err
		}
	}
	ctx, cancel := r.within()
	defer cancel()
	q, err := a.queue(ctx, r.game)
	if err != nil {
		return err
	}
	var dropped int64
	if body.Discard {
		q, dropped, err = a.discard(ctx, q)
		a.Logger.InfoContext(ctx, "queued behaviours were dropped", "game", r.game, "items", dropped, "by", r.by)
	} else {
		q, err = a.sendAll(ctx, q)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, drained{q, dropped})
}

// discard drops the items of a queue that were there: what is pushed meanwhile
// stays. It gives the queue as it is then.
func (a *api) discard(ctx context.Context, q queue) (after queue, dropped int64, err error) {
	for dropped < q.Counts.Queued {
		n, err := a.Queues.Discard(ctx, q.Game, int(min(discardStep, q.Counts.Queued-dropped)), eventq.Shutdown)
		if err != nil {
			return q, dropped, err
		}
		if n == 0 {
			break
		}
		dropped += n
	}
	after, err = a.queue(ctx, q.Game)
	return after, dropped, err
}

// sendAll has what is queued leave now, and waits until all of it has, or it
// cannot, or time is up. It gives the queue as it is then.
func (a *api) sendAll(ctx context.Context, q queue) (queue, error) {
	if q.Paused != "" {
		return q, &refused{protocol.CodeBadRequest, http.StatusConflict, "the queue is paused (" + q.Paused + "): resume it first, or discard what it holds"}
	}
	soon, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	err := a.Drain(soon, q.Game)
	if err != nil && soon.Err() == nil && !errors.Is(err, eventq.ErrPaused) {
		return q, err
	}
	return a.queue(ctx, q.Game)
}
