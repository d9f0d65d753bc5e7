package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"laststand/internal/eventq"
)

// Queue is the state of the behaviour queue of a game.
type Queue struct {
	eventq.Status
	AsOf int64 `json:"as_of"` // cluster time, epoch ms
}

// queuePage is one page of queues; the last page has no cursor.
type queuePage struct {
	Queues     []Queue `json:"queues"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// getQueues lists the queues of all games, sorted by name. The cursor is the last name of
// the previous page.
func (a *api) getQueues(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	games := a.Games
	if cursor := r.query.Get("cursor"); cursor != "" {
		position, found := slices.BinarySearch(games, cursor)
		if !found {
			return badCursor(cursor)
		}
		games = games[position+1:]
	}
	var page queuePage
	if len(games) > limit {
		games = games[:limit]
		page.NextCursor = games[limit-1]
	}
	ctx, cancel := r.callContext()
	defer cancel()
	if page.Queues, err = a.queueStates(ctx, games...); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}

func (a *api) queueStates(ctx context.Context, games ...string) ([]Queue, error) {
	now := a.Now()
	statuses, err := a.Queues.Status(ctx, games, now)
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

// queueState returns the state of the queue of one game.
func (a *api) queueState(ctx context.Context, game string) (Queue, error) {
	states, err := a.queueStates(ctx, game)
	if err != nil {
		return Queue{}, err
	}
	return states[0], nil
}

func (a *api) getQueue(w http.ResponseWriter, r *request) error {
	return a.changeQueue(w, r, func(context.Context) error { return nil })
}

// changeQueue calls change and writes the state of the queue after it.
func (a *api) changeQueue(w http.ResponseWriter, r *request, change func(context.Context) error) error {
	ctx, cancel := r.callContext()
	defer cancel()
	if err := change(ctx); err != nil {
		return err
	}
	state, err := a.queueState(ctx, r.game)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, state)
}

// queueItem is one queued behaviour in a response. QueuedAt is epoch ms.
type queueItem struct {
	QueuedAt  int64           `json:"queued_at"`
	Behaviour json.RawMessage `json:"behaviour"`
}

// queueItems are the oldest items of a queue.
type queueItems struct {
	Items []queueItem `json:"items"`
}

// getQueueItems writes the oldest items, and leaves them in the queue. They are personal
// data.
func (a *api) getQueueItems(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	items, err := a.Queues.Peek(ctx, r.game, limit)
	if err != nil {
		return err
	}
	response := queueItems{make([]queueItem, len(items))}
	for i, item := range items {
		response.Items[i] = queueItem{item.QueuedAt, json.RawMessage(item.Body)}
	}
	a.Logger.InfoContext(ctx, "queued behaviours read", "game", r.game, "items", len(items), "actor", r.actor)
	return writeJSON(w, http.StatusOK, response)
}

// reasonBody is the body of a request that pauses a queue or disables a webhook.
type reasonBody struct {
	Reason string `json:"reason" need:"true"`
}

func (a *api) pauseQueue(w http.ResponseWriter, r *request) error {
	reason, err := readReason(w, r)
	if err != nil {
		return err
	}
	return a.changeQueue(w, r, func(ctx context.Context) error {
		a.Logger.InfoContext(ctx, "behaviour queue paused", "game", r.game, "reason", reason, "actor", r.actor)
		return a.Queues.Pause(ctx, r.game, reason)
	})
}

// readReason reads the reason of a change, which other operators can see.
func readReason(w http.ResponseWriter, r *request) (string, error) {
	var body reasonBody
	if err := readObject(w, r.Request, &body); err != nil {
		return "", err
	}
	if body.Reason == "" || len(body.Reason) > maxReason {
		return "", badRequest("the reason has %d bytes; use 1 to %d", len(body.Reason), maxReason)
	}
	return body.Reason, nil
}

func (a *api) resumeQueue(w http.ResponseWriter, r *request) error {
	return a.changeQueue(w, r, func(ctx context.Context) error {
		a.Logger.InfoContext(ctx, "behaviour queue resumed", "game", r.game, "actor", r.actor)
		return a.Queues.Resume(ctx, r.game, a.Now())
	})
}

// queueSettings is the body of PATCH …/queue. MaxLen 0 restores the configured length.
type queueSettings struct {
	MaxLen int `json:"max_len" need:"true"`
}

func (a *api) patchQueue(w http.ResponseWriter, r *request) error {
	var body queueSettings
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	if body.MaxLen < 0 || body.MaxLen > eventq.MaxQueueLen {
		return badRequest("max_len %d is out of range; use 1 to %d, or 0 for the configured length", body.MaxLen, eventq.MaxQueueLen)
	}
	return a.changeQueue(w, r, func(ctx context.Context) error {
		a.Logger.InfoContext(ctx, "behaviour queue length changed", "game", r.game, "max_len", body.MaxLen, "actor", r.actor)
		return a.Queues.SetMaxLen(ctx, r.game, body.MaxLen)
	})
}
