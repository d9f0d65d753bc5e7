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
	// drainWait is how long a drain waits until the queue is empty.
	drainTimeout = 20 * time.Second
	// discardBatch is how many items one call of the store discards.
	discardStep = 1000
)

// drainBody is the body of a request that empties a behaviour queue. If Discard is true,
// the items are dropped, otherwise they are sent.
type drain struct {
	Discard bool `json:"discard,omitempty"`
}

// drainResponse has the state of the queue after the drain.
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
		a.Logger.InfoContext(ctx, "queued behaviours discarded", "game", r.game, "items", dropped, "actor", r.actor)
	} else {
		q, err = a.sendAll(ctx, q)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, drained{q, dropped})
}

// discardQueued discards as many items as the queue has at the start. So it ends even if
// new items arrive. It returns the state of the queue afterwards.
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

// sendQueued sends the queued items now. It waits until the queue is empty or paused, at
// most drainWait. It returns the state of the queue afterwards.
func (a *api) sendAll(ctx context.Context, q queue) (queue, error) {
	if q.Paused != "" {
		return q, &refused{protocol.CodeBadRequest, http.StatusConflict, "the queue is paused (" + q.Paused + "); resume it first, or discard its items"}
	}
	soon, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	err := a.Drain(soon, q.Game)
	if err != nil && soon.Err() == nil && !errors.Is(err, eventq.ErrPaused) {
		return q, err
	}
	return a.queue(ctx, q.Game)
}
