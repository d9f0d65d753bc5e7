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
	drainWait = 20 * time.Second
	// discardBatch is how many items one call of the store discards.
	discardBatch = 1000
)

// drainBody is the body of a request that empties a behaviour queue. If Discard is true,
// the items are dropped, otherwise they are sent.
type drainBody struct {
	Discard bool `json:"discard,omitempty"`
}

// DrainedQueue has the state of the queue after the drain.
type DrainedQueue struct {
	Queue
	Discarded int64 `json:"discarded"`
}

func (a *api) drainQueue(w http.ResponseWriter, r *request) error {
	var body drainBody
	if r.ContentLength != 0 {
		if err := readObject(w, r.Request, &body); err != nil {
			return err
		}
	}
	ctx, cancel := r.callContext()
	defer cancel()
	state, err := a.queueState(ctx, r.game)
	if err != nil {
		return err
	}
	var discarded int64
	if body.Discard {
		state, discarded, err = a.discardQueued(ctx, state)
		a.Logger.InfoContext(ctx, "queued behaviours discarded", "game", r.game, "items", discarded, "actor", r.actor)
	} else {
		state, err = a.sendQueued(ctx, state)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, DrainedQueue{state, discarded})
}

// discardQueued discards as many items as the queue has at the start. So it ends even if
// new items arrive. It returns the state of the queue afterwards.
func (a *api) discardQueued(ctx context.Context, before Queue) (after Queue, discarded int64, err error) {
	for discarded < before.Counts.Queued {
		n, err := a.Queues.Discard(ctx, before.Game, int(min(discardBatch, before.Counts.Queued-discarded)), eventq.Shutdown)
		if err != nil {
			return before, discarded, err
		}
		if n == 0 {
			break
		}
		discarded += n
	}
	after, err = a.queueState(ctx, before.Game)
	return after, discarded, err
}

// sendQueued sends the queued items now. It waits until the queue is empty or paused, at
// most drainWait. It returns the state of the queue afterwards.
func (a *api) sendQueued(ctx context.Context, before Queue) (Queue, error) {
	if before.Paused != "" {
		return before, &apiError{protocol.CodeBadRequest, http.StatusConflict, "the queue is paused (" + before.Paused + "); resume it first, or discard its items"}
	}
	drainCtx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	err := a.SendQueued(drainCtx, before.Game)
	if err != nil && drainCtx.Err() == nil && !errors.Is(err, eventq.ErrPaused) {
		return before, err
	}
	return a.queueState(ctx, before.Game)
}
