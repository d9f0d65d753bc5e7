package ops

import (
	"net/http"

	"laststand/internal/taskqueue"
)

// TaskQueue is the state of a task queue, which contains the tasks of one topic and
// priority. A position is the number of a task in its queue, from 1.
type TaskQueue struct {
	Topic    string             `json:"topic"`
	Priority int64              `json:"priority"`
	Ordering taskqueue.Ordering `json:"ordering,omitempty"`
	// LastPosition is the position of the newest task. Workers have claimed all tasks up
	// to ClaimedPosition. All tasks up to FinishedPosition have ended or wait for a retry.
	LastPosition     int64  `json:"last_position"`
	ClaimedPosition  int64  `json:"claimed_position"`
	FinishedPosition int64  `json:"finished_position"`
	BlockedBy        string `json:"blocked_by,omitempty"` // the task that an ordered queue waits for
}

// taskQueuePage is one page of task queues; the last page has no cursor.
type taskQueuePage struct {
	TaskQueues []TaskQueue `json:"task_queues"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

func (a *api) getTaskQueues(w http.ResponseWriter, r *request) error {
	filter := taskqueue.QueueFilter{Kind: r.query.Get("kind"), Topic: r.query.Get("topic")}
	switch busy := r.query.Get("busy"); busy {
	case "", "false":
	case "true":
		filter.Busy = true
	default:
		return badRequest("busy=%q is unknown; use true or false", busy)
	}
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	queues, next, err := a.Tasks.Queues(ctx, filter, r.query.Get("cursor"), limit)
	if err != nil {
		return err
	}
	page := taskQueuePage{TaskQueues: []TaskQueue{}, NextCursor: next}
	for _, queue := range queues {
		page.TaskQueues = append(page.TaskQueues, TaskQueue{queue.Topic, queue.Priority, queue.Ordering, queue.Pos, queue.Scan, queue.Done, queue.Head})
	}
	return writeJSON(w, http.StatusOK, page)
}
