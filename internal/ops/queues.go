package ops

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/protocol"
)

// Queue is the state of the behaviour queue of a game.
type Queue struct {
	eventq.Status
	AsOf int64 `json:"as_of"` // cluster time, epoch ms
}

// DrainedQueue has the state of the queue after a drain.
type DrainedQueue struct {
	Queue
	Discarded int64 `json:"discarded"`
}

// queueItem is one queued behaviour in a response. QueuedAt is epoch ms.
type queueItem struct {
	QueuedAt  int64           `json:"queued_at"`
	Behaviour json.RawMessage `json:"behaviour"`
}

// queueSettings is the body of PATCH …/queue. MaxLen 0 restores the configured length.
type queueSettings struct {
	MaxLen int `json:"max_len" need:"true"`
}

// drainBody is the body of a request that empties a behaviour queue. If Discard is true,
// the items are dropped, otherwise they are sent.
type drainBody struct {
	Discard bool `json:"discard,omitempty"`
}

// drainWait is how long a drain waits until the queue is empty.
const drainWait = 20 * time.Second

func (h queueRoutes) routes() []Operation {
	return []Operation{
		{"GET", "/admin/v1/queues", h.list, []string{"limit", "cursor"}, false, "List the behaviour queues of all games."},
		{"GET", gamePath + "/queue", h.get, nil, false, "Return the behaviour queue of a game."},
		{"GET", gamePath + "/queue/items", h.peek, []string{"limit"}, true, "Return the oldest behaviours of a queue, and leave them there."},
		{"POST", gamePath + "/queue/pause", withReason(h.pause), nil, false, "Pause the reporting of a game for a `reason`."},
		{"POST", gamePath + "/queue/resume", h.resume, nil, false, "Resume the reporting of a game."},
		{"POST", gamePath + "/queue/drain", optionalBody(h.drain), nil, false, "Send all queued behaviours now, or drop them with `discard`; returns after 20 s at the latest."},
		{"PATCH", gamePath + "/queue", withBody(h.setMaxLen), nil, false, "Set `max_len` of a queue at all nodes; 0: the configured length."},
	}
}

// list lists the queues of all games, sorted by name. The cursor is the last name of
// the previous page.
func (h queueRoutes) list(r *request) (any, error) {
	games, next := h.Games, ""
	if cursor := r.query.Get("cursor"); cursor != "" {
		position, found := slices.BinarySearch(games, cursor)
		if !found {
			return nil, badCursor(cursor)
		}
		games = games[position+1:]
	}
	if len(games) > r.limit {
		games, next = games[:r.limit], games[r.limit-1]
	}
	states, err := h.states(r.ctx, games...)
	return page[Queue]{"queues", states, next}, err
}

func (h queueRoutes) states(ctx context.Context, games ...string) ([]Queue, error) {
	now := h.Now()
	statuses, err := h.Queues.Status(ctx, games, now)
	if err != nil {
		return nil, err
	}
	states := make([]Queue, len(statuses))
	for i, status := range statuses {
		if status.Counts.Dropped == nil {
			status.Counts.Dropped = map[eventq.Reason]int64{}
		}
		states[i] = Queue{status, now}
	}
	return states, nil
}

func (h queueRoutes) get(r *request) (any, error) { return h.stateAfter(r, nil) }

// stateAfter returns the state of the queue after a change, or the error of the change.
func (h queueRoutes) stateAfter(r *request, err error) (Queue, error) {
	var states []Queue
	if err == nil {
		states, err = h.states(r.ctx, r.game)
	}
	if err != nil {
		return Queue{}, err
	}
	return states[0], nil
}

// peek returns the oldest items, and leaves them in the queue. They are personal data.
func (h queueRoutes) peek(r *request) (any, error) {
	stored, err := h.Queues.Peek(r.ctx, r.game, r.limit)
	items := make([]queueItem, len(stored))
	for i, item := range stored {
		items[i] = queueItem{item.QueuedAt, json.RawMessage(item.Body)}
	}
	return page[queueItem]{key: "items", items: items}, err
}

func (h queueRoutes) pause(r *request, reason string) (any, error) {
	return h.stateAfter(r, h.Queues.Pause(r.ctx, r.game, reason))
}

func (h queueRoutes) resume(r *request) (any, error) {
	return h.stateAfter(r, h.Queues.Resume(r.ctx, r.game, h.Now()))
}

func (h queueRoutes) setMaxLen(r *request, body queueSettings) (any, error) {
	if body.MaxLen < 0 || body.MaxLen > eventq.MaxQueueLen {
		return nil, badRequest("max_len %d is out of range; use 1 to %d, or 0 for the configured length", body.MaxLen, eventq.MaxQueueLen)
	}
	return h.stateAfter(r, h.Queues.SetMaxLen(r.ctx, r.game, body.MaxLen))
}

func (h queueRoutes) drain(r *request, body drainBody) (any, error) {
	before, err := h.stateAfter(r, nil)
	if err != nil {
		return nil, err
	}
	var discarded int64
	if body.Discard {
		discarded, err = h.Queues.Discard(r.ctx, r.game, eventq.Shutdown)
	} else {
		err = h.send(r.ctx, before)
	}
	after, err := h.stateAfter(r, err)
	return DrainedQueue{after, discarded}, err
}

// send sends the queued items now. It waits until the queue is empty or paused, at most
// drainWait.
func (h queueRoutes) send(ctx context.Context, before Queue) error {
	if before.Paused != "" {
		return &httpserver.StatusError{
			Status:  http.StatusConflict,
			Refusal: protocol.Errorf(protocol.CodeBadRequest, "the queue is paused (%s); resume it first, or discard its items", before.Paused),
		}
	}
	drainCtx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	err := h.SendQueued(drainCtx, before.Game)
	if drainCtx.Err() != nil || errors.Is(err, eventq.ErrPaused) {
		return nil
	}
	return err
}
