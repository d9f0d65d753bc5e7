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

// sealing is the payload of a task of SealKind. The key is the day.
type sealTask struct {
	At int64 `json:"at"` // when the day was over, epoch ms
}

// dayData is the data of day.sealed.
type dayData struct {
	Game   string     `json:"game"`
	Date   string     `json:"date"`
	Boards []dayBoard `json:"boards"`
}

// dayBoard is the best of a day. A team's name is its nickname, as on all boards.
type dayBoard struct {
	Kind    leaderboard.Kind    `json:"kind"`
	Order   leaderboard.Order   `json:"order"`
	Total   int64               `json:"total"` // entries ranked
	Entries []leaderboard.Entry `json:"entries"`
}

// errUnwanted is of a day that another node enqueued for an endpoint.
var errNoSubscriber = errors.New("no endpoint of this node's configuration wants sealed days")

// seal tells of a day as its top lists are now. Should it be made again, after
// they were corrected, the message that was enqueued first stands.
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
	if err := o.refreshStates(ctx); err != nil { // who was enabled elsewhere meanwhile is told
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

// first is the day with at most so many entries on each board.
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
