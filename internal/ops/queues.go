package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"laststand/internal/eventq"
)

// queue is the state of a game's queue of behaviours.
type queue struct {
	eventq.Status
	AsOf int64 `json:"as_of"` // cluster time, epoch ms
}

// queuePage is a list of queues; the cursor is absent after the last.
type queuePage struct {
	Queues     []queue `json:"queues"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

// getQueues lists the queues of all games, in the order of their names. A
// cursor is the last one of the page before.
func (a *api) getQueues(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	games := a.Games
	if cursor := r.query.Get("cursor"); cursor != "" {
		at, found := slices.BinarySearch(games, cursor)
		if !found {
			return badRequest("the cursor is not one that this path has given")
		}
		games = games[at+1:]
	}
	var page queuePage
	if len(games) > limit {
		games = games[:limit]
		page.NextCursor = games[limit-1]
	}
	ctx, cancel := r.within()
	defer cancel()
	if page.Queues, err = a.queues(ctx, games...); err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}

func (a *api) queues(ctx context.Context, games ...string) ([]queue, error) {
	now := a.Now()
	states, err := a.Queues.Status(ctx, games, now)
	if err != nil {
		return nil, err
	}
	all := make([]queue, len(states))
	for i, s := range states {
		if s.Counts.Dropped == nil {
			s.Counts.Dropped = map[eventq.Reason]int64{}
		}
		all[i] = queue{s, now}
	}
	return all, nil
}

// queue is the state of one game's.
func (a *api) queue(ctx context.Context, game string) (queue, error) {
	one, err := a.queues(ctx, game)
	if err != nil {
		return queue{}, err
	}
	return one[0], nil
}

func (a *api) getQueue(w http.ResponseWriter, r *request) error {
	return a.afterwards(w, r, func(context.Context) error { return nil })
}

// afterwards answers with the queue of the path after something was done with
// it.
func (a *api) afterwards(w http.ResponseWriter, r *request, do func(context.Context) error) error {
	ctx, cancel := r.within()
	defer cancel()
	if err := do(ctx); err != nil {
		return err
	}
	q, err := a.queue(ctx, r.game)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, q)
}

// queued is an item as operators see it.
type queued struct {
	QueuedAt  int64           `json:"queued_at"`
	Behaviour json.RawMessage `json:"behaviour"`
}

// peeked are the oldest items of a queue.
type peeked struct {
	Items []queued `json:"items"`
}

// peekQueue shows what waits, which is personal data.
func (a *api) peekQueue(w http.ResponseWriter, r *request) error {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	items, err := a.Queues.Peek(ctx, r.game, limit)
	if err != nil {
		return err
	}
	shown := peeked{make([]queued, len(items))}
	for i, item := range items {
		shown.Items[i] = queued{item.QueuedAt, json.RawMessage(item.Body)}
	}
	a.Logger.InfoContext(ctx, "queued behaviours were looked at", "game", r.game, "items", len(items), "by", r.by)
	return answer(w, http.StatusOK, shown)
}

// pause says why nothing is to leave, of a queue or to a webhook.
type pause struct {
	Why string `json:"why" need:"true"`
}

func (a *api) pauseQueue(w http.ResponseWriter, r *request) error {
	why, err := readWhy(w, r)
	if err != nil {
		return err
	}
	return a.afterwards(w, r, func(ctx context.Context) error {
		a.Logger.InfoContext(ctx, "a queue of behaviours is paused", "game", r.game, "why", why, "by", r.by)
		return a.Queues.Pause(ctx, r.game, why)
	})
}

func readWhy(w http.ResponseWriter, r *request) (string, error) {
	var body pause
	if err := readObject(w, r.Request, &body); err != nil {
		return "", err
	}
	if body.Why == "" || len(body.Why) > maxReason {
		return "", badRequest("why: 1 to %d bytes, which are shown", maxReason)
	}
	return body.Why, nil
}

func (a *api) resumeQueue(w http.ResponseWriter, r *request) error {
	return a.afterwards(w, r, func(ctx context.Context) error {
		a.Logger.InfoContext(ctx, "a queue of behaviours is resumed", "game", r.game, "by", r.by)
		return a.Queues.Resume(ctx, r.game, a.Now())
	})
}

// bound is the most that a queue may hold, 0 for what is configured.
type bound struct {
	MaxLen int `json:"max_len" need:"true"`
}

func (a *api) boundQueue(w http.ResponseWriter, r *request) error {
	var body bound
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	if body.MaxLen < 0 || body.MaxLen > eventq.MostLen {
		return badRequest("max_len: a whole number up to %d; 0 for what is configured", eventq.MostLen)
	}
	return a.afterwards(w, r, func(ctx context.Context) error {
		a.Logger.InfoContext(ctx, "a queue of behaviours is bounded", "game", r.game, "max_len", body.MaxLen, "by", r.by)
		return a.Queues.Bound(ctx, r.game, body.MaxLen)
	})
}
