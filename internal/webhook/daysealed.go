package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
)

// sealTask is the payload of a task of SealedDayKind. The task's key is the day.
type sealTask struct {
	At int64 `json:"at"` // when the day was over, epoch ms
}

// dayData is the data of day.sealed.
type dayData struct {
	Game   string     `json:"game"`
	Date   string     `json:"date"`
	Boards []dayBoard `json:"boards"`
}

// dayLeaderboard is the top list of a day. Nickname of a team's entry is the team's
// name, as on all leaderboards.
type dayBoard struct {
	Kind    leaderboard.Kind    `json:"kind"`
	Order   leaderboard.Order   `json:"order"`
	Total   int64               `json:"total"` // entries ranked
	Entries []leaderboard.Entry `json:"entries"`
}

// errNoSubscriber means that another node enqueued a sealed day for an endpoint that
// this node's configuration does not have.
var errNoSubscriber = errors.New("no endpoint of this node's configuration subscribes to day.sealed")

// enqueueSealedDay enqueues the deliveries of a sealed day with its current top
// lists. If it runs again after a correction, the deliveries of the first run stay
// unchanged.
func (o *Dispatcher) seal(ctx context.Context, t taskqueue.Task) error {
	var s sealTask
	if err := json.Unmarshal(t.Payload, &s); err != nil {
		return taskqueue.Permanent(fmt.Errorf("the payload is not of the form {\"at\":epoch ms}: %w", err))
	}
	switch subscribed := o.Registry.isSubscribed(DaySealed, t.Game); {
	case !subscribed && age(&t) < configRollout:
		return taskqueue.Postpone(errNoSubscriber, time.Minute)
	case !subscribed:
		return nil
	}
	if err := o.refreshStates(ctx); err != nil { // another node may have enabled an endpoint
		return err
	}
	day := dayData{Game: t.Game, Date: t.Key}
	for _, kind := range leaderboard.Kinds() {
		top, total, err := o.Lists.Top(ctx, t.Game, t.Key, kind, maxListed)
		if err != nil {
			return fmt.Errorf("top list of %s: %w", kind, err)
		}
		day.Boards = append(day.Boards, dayBoard{kind, leaderboard.ByValue, total, entriesOf(top)})
	}
	tasks := o.Registry.deliveries(event{kind: DaySealed, game: t.Game, subject: t.Key, occurredAt: s.At, data: day.first})
	if len(tasks) == 0 {
		return nil
	}
	_, err := o.Queue.Enqueue(ctx, tasks)
	return err
}

// truncated returns the day with at most limit entries on each leaderboard.
func (d dayData) first(limit int) any {
	boards := make([]dayBoard, len(d.Boards))
	for i, b := range d.Boards {
		b.Entries = first(b.Entries, limit)
		boards[i] = b
	}
	d.Boards = boards
	return d
}

func entriesOf(top []leaderboard.TopEntry) []leaderboard.Entry {
	entries := make([]leaderboard.Entry, len(top))
	for i, e := range top {
		p := e.Aggregates
		entries[i] = leaderboard.Entry{
			Rank: e.Rank, ID: e.Holder, Nickname: e.Name, Value: e.Value, Score: p.Score, TimeMS: p.TimeMS, Matches: p.Matches,
			Asked: p.Asked, Answered: p.Answered, Correct: p.Correct, Accuracy: p.Accuracy(),
		}
	}
	return entries
}
