package ops

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"laststand/internal/taskqueue"
)

// Tasks lists tasks and task queues; *ledger.TaskStore implements it. Tasks are sorted newest
// first, unless the filter has OldestFirst.
type Tasks interface {
	Task(ctx context.Context, id string) (taskqueue.Task, error)
	Tasks(ctx context.Context, filter taskqueue.Filter, cursor string, limit int) (page []taskqueue.Task, next string, err error)
	Queues(ctx context.Context, filter taskqueue.QueueFilter, cursor string, limit int) (page []taskqueue.Queue, next string, err error)
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// taskPage is one page of tasks without payloads; the last page has no cursor.
type taskPage struct {
	Tasks      []taskqueue.Task `json:"tasks"`
	NextCursor string           `json:"next_cursor,omitempty"`
}

func (a *api) getTasks(w http.ResponseWriter, r *request) error {
	filter, err := readFilter(r)
	if err != nil {
		return err
	}
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	tasks, next, err := a.Tasks.Tasks(ctx, filter, r.query.Get("cursor"), limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, taskPage{append([]taskqueue.Task{}, tasks...), next})
}

func readFilter(r *request) (taskqueue.Filter, error) {
	filter := taskqueue.Filter{
		Game: r.query.Get("game"), Topic: r.query.Get("topic"), Key: r.query.Get("key"), State: taskqueue.State(r.query.Get("state")),
	}
	if filter.State != "" && !slices.Contains(taskqueue.States(), filter.State) {
		return filter, badRequest("state=%q is unknown; use one of %v", filter.State, taskqueue.States())
	}
	return filter, nil
}

func readLimit(text string) (int, error) {
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, badRequest("limit=%q is out of range; use 1 to %d", text, maxLimit)
	}
	return n, nil
}

func (a *api) getTask(w http.ResponseWriter, r *request) error {
	return writeTask(w, r, a.Tasks.Task)
}

func (a *api) requeueTask(w http.ResponseWriter, r *request) error {
	return writeTask(w, r, a.TaskActions.Requeue)
}

func (a *api) discardTask(w http.ResponseWriter, r *request) error {
	return writeTask(w, r, a.TaskActions.Discard)
}

func (a *api) putPayload(w http.ResponseWriter, r *request) error {
	payload, err := readBody(w, r.Request)
	if err != nil {
		return err
	}
	return writeTask(w, r, func(ctx context.Context, id string) (taskqueue.Task, error) {
		return a.TaskActions.Edit(ctx, id, payload)
	})
}

// writeTask calls a function for the task that the path names, and writes the task that it
// returns.
func writeTask(w http.ResponseWriter, r *request, call func(context.Context, string) (taskqueue.Task, error)) error {
	ctx, cancel := r.callContext()
	defer cancel()
	task, err := call(ctx, r.PathValue("task"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, task)
}

// deadTasksBody is the body of a request that changes a page of dead tasks. An empty Game
// or Topic selects all.
type deadTasksBody struct {
	Game   string `json:"game,omitempty"`
	Topic  string `json:"topic,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// deadTasksPerCall is how many tasks one request changes.
const deadTasksPerCall = 20

func (a *api) requeueTasks(w http.ResponseWriter, r *request) error {
	return a.changeDeadTasks(w, r, a.TaskActions.Requeue)
}

func (a *api) discardTasks(w http.ResponseWriter, r *request) error {
	return a.changeDeadTasks(w, r, a.TaskActions.Discard)
}

// changeDeadTasks calls change for each task of a page of dead tasks, and writes the
// changed tasks. It changes the oldest task first, so that requeued tasks keep their order.
// It skips tasks that another request has finished or deleted in the meantime.
func (a *api) changeDeadTasks(w http.ResponseWriter, r *request, change func(context.Context, string) (taskqueue.Task, error)) error {
	var body deadTasksBody
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	filter := taskqueue.Filter{Game: body.Game, Topic: body.Topic, State: taskqueue.StateDead, OldestFirst: true}
	tasks, next, err := a.Tasks.Tasks(ctx, filter, body.Cursor, deadTasksPerCall)
	if err != nil {
		return err
	}
	page := taskPage{Tasks: []taskqueue.Task{}, NextCursor: next}
	for _, task := range tasks {
		changed, err := change(ctx, task.ID)
		if errors.Is(err, taskqueue.ErrDone) || errors.Is(err, taskqueue.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		changed.Payload = nil
		page.Tasks = append(page.Tasks, changed)
	}
	return writeJSON(w, http.StatusOK, page)
}
