package ops

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"laststand/internal/taskqueue"
)

// Tasks lists tasks and task queues; *ledger.TaskStore implements it. Tasks are sorted newest
// first, unless the filter has OldestFirst.
type Tasks interface {
	Task(ctx context.Context, id string) (taskqueue.Task, error)
	Tasks(ctx context.Context, filter taskqueue.Filter, cursor string, limit int) (page []taskqueue.Task, next string, err error)
	Queues(ctx context.Context, filter taskqueue.QueueFilter, cursor string, limit int) (page []taskqueue.Queue, next string, err error)
}

// TaskActions change a task; *taskqueue.Admin implements it. Each returns the task after the
// change.
type TaskActions interface {
	Requeue(ctx context.Context, id string) (taskqueue.Task, error)
	Edit(ctx context.Context, id string, payload json.RawMessage) (taskqueue.Task, error)
	Discard(ctx context.Context, id string) (taskqueue.Task, error)
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

func (h taskRoutes) routes() []Operation {
	return []Operation{
		{"GET", tasksPath, h.listTasks, []string{"game", "topic", "key", "state", "limit", "cursor"}, false, "List tasks, newest first, without payloads."},
		{"POST", tasksPath + "/requeue", withBody(h.requeueDead), nil, false, "Requeue up to 20 dead tasks of `game` and `topic`, oldest first; repeat with `cursor`."},
		{"POST", tasksPath + "/discard", withBody(h.discardDead), nil, false, "Discard up to 20 dead tasks of `game` and `topic`, oldest first; repeat with `cursor`."},
		{"GET", tasksPath + "/{task}", h.get, nil, true, "Return a task with its payload and errors."},
		{"PUT", tasksPath + "/{task}/payload", h.edit, nil, false, "Replace the payload of a task; the body is the JSON payload."},
		{"POST", tasksPath + "/{task}/requeue", h.requeue, nil, false, "Requeue a task and return it."},
		{"POST", tasksPath + "/{task}/discard", h.discard, nil, false, "Discard a task and return it."},
		{"GET", "/admin/v1/task-queues", h.listQueues, []string{"kind", "topic", "busy", "limit", "cursor"}, false, "List task queues by topic and priority."},
	}
}

func (h taskRoutes) listTasks(r *request) (any, error) {
	filter, err := readFilter(r)
	if err != nil {
		return nil, err
	}
	tasks, next, err := h.Tasks.Tasks(r.ctx, filter, r.query.Get("cursor"), r.limit)
	return page[taskqueue.Task]{"tasks", tasks, next}, err
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

func (h taskRoutes) get(r *request) (any, error) { return h.Tasks.Task(r.ctx, r.PathValue("task")) }

func (h taskRoutes) requeue(r *request) (any, error) {
	return h.TaskActions.Requeue(r.ctx, r.PathValue("task"))
}

func (h taskRoutes) discard(r *request) (any, error) {
	return h.TaskActions.Discard(r.ctx, r.PathValue("task"))
}

func (h taskRoutes) edit(r *request) (any, error) {
	if r.bodyErr != nil {
		return nil, r.bodyErr
	}
	return h.TaskActions.Edit(r.ctx, r.PathValue("task"), r.body)
}

func (h taskRoutes) requeueDead(r *request, body deadTasksBody) (any, error) {
	return h.changeDead(r, body, h.TaskActions.Requeue)
}

func (h taskRoutes) discardDead(r *request, body deadTasksBody) (any, error) {
	return h.changeDead(r, body, h.TaskActions.Discard)
}

// changeDead calls change for each task of a page of dead tasks, and returns the
// changed tasks. It changes the oldest task first, so that requeued tasks keep their order.
// It skips tasks that another request has finished or deleted in the meantime.
func (h taskRoutes) changeDead(r *request, body deadTasksBody, change func(context.Context, string) (taskqueue.Task, error)) (any, error) {
	filter := taskqueue.Filter{Game: body.Game, Topic: body.Topic, State: taskqueue.StateDead, OldestFirst: true}
	tasks, next, err := h.Tasks.Tasks(r.ctx, filter, body.Cursor, deadTasksPerCall)
	if err != nil {
		return nil, err
	}
	var all []taskqueue.Task
	for _, task := range tasks {
		changed, err := change(r.ctx, task.ID)
		if errors.Is(err, taskqueue.ErrDone) || errors.Is(err, taskqueue.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		changed.Payload = nil
		all = append(all, changed)
	}
	return page[taskqueue.Task]{"tasks", all, next}, nil
}

func (h taskRoutes) listQueues(r *request) (any, error) {
	filter := taskqueue.QueueFilter{Kind: r.query.Get("kind"), Topic: r.query.Get("topic")}
	switch busy := r.query.Get("busy"); busy {
	case "", "false":
	case "true":
		filter.Busy = true
	default:
		return nil, badRequest("busy=%q is unknown; use true or false", busy)
	}
	queues, next, err := h.Tasks.Queues(r.ctx, filter, r.query.Get("cursor"), r.limit)
	return page[taskqueue.Queue]{"task_queues", queues, next}, err
}
