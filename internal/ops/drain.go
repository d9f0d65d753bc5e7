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
	// drainTimeout bounds how long a drain waits for the queue to become empty.
	drainTimeout = 20 * time.Second
	// discardStep is how many items one call of the store drops.
	discardStep = 1000
)

// drain is the body of a request that empties a queue: by sending, or by discarding.
type drain struct {
	Discard bool `json:"discard,omitempty"`
}

// drained is the answer: the queue afterwards.
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

// discard drops as many items as the queue had, so that it ends although others arrive.
// It returns the queue afterwards.
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

// sendAll sends the queued items now. It waits until the queue is empty, is paused, or
// drainTimeout has passed, and returns the queue afterwards.
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
