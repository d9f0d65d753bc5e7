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

// dayData is the data of day.sealed.
type dayData struct {
	Game   string           `json:"game"`
	Date   string           `json:"date"`
	Boards []dayLeaderboard `json:"boards"`
}

// dayLeaderboard is the top list of a day. Nickname of a team's entry is the team's
// name, as on all leaderboards.
type dayLeaderboard struct {
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
func (d *Dispatcher) enqueueSealedDay(ctx context.Context, task taskqueue.Task) error {
	var payload sealTask
	if err := json.Unmarshal(task.Payload, &payload); err != nil {
		return taskqueue.Permanent(fmt.Errorf("the payload is not of the form {\"at\":epoch ms}: %w", err))
	}
	switch isSubscribed := d.Registry.hasSubscriber(DaySealed, task.Game); {
	case !isSubscribed && taskAge(&task) < configRollout:
		return taskqueue.Postpone(errNoSubscriber, time.Minute)
	case !isSubscribed:
		return nil
	}
	if err := d.refreshStates(ctx); err != nil { // another node may have enabled an endpoint
		return err
	}
	day := dayData{Game: task.Game, Date: task.Key}
	for _, kind := range leaderboard.Kinds() {
		top, total, err := d.TopLists.Top(ctx, task.Game, task.Key, kind, maxListEntries)
		if err != nil {
			return fmt.Errorf("top list of %s: %w", kind, err)
		}
		day.Boards = append(day.Boards, dayLeaderboard{kind, leaderboard.ByValue, total, top})
	}
	tasks := d.Registry.deliveries(event{eventType: DaySealed, game: task.Game, subject: task.Key, occurredAt: payload.At, data: day.truncated})
	if len(tasks) == 0 {
		return nil
	}
	_, err := d.Queue.Enqueue(ctx, tasks)
	return err
}

// truncated returns the day with at most limit entries on each leaderboard.
func (day dayData) truncated(limit int) any {
	boards := make([]dayLeaderboard, len(day.Boards))
	for i, board := range day.Boards {
		board.Entries = firstEntries(board.Entries, limit)
		boards[i] = board
	}
	day.Boards = boards
	return day
}
