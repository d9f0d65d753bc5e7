package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"laststand/internal/httpserver"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// maxTasksBody is the maximum size of a body with new tasks, in bytes. It is
// enough for taskqueue.MaxPerCall tasks with the largest payloads.
const maxTasksBody = 8 << 20

// tasksBody is the body with new tasks. Like behavioursBody it has one element
// more than a call may use.
type tasksBody struct {
	Tasks [taskqueue.MaxPerCall + 1]json.RawMessage `json:"tasks" need:"true"`
}

type newTask struct {
	Topic     string             `json:"topic" need:"true"`
	Key       string             `json:"key" need:"true"`
	Priority  int64              `json:"priority"`
	Ordering  taskqueue.Ordering `json:"ordering"`
	NotBefore int64              `json:"not_before"`
	MaxTries  int64              `json:"max_tries"`
	Payload   json.RawMessage    `json:"payload" need:"true"`
}

// enqueueResponse lists the accepted tasks in the order of the call.
type enqueueResponse struct {
	Tasks []taskqueue.Accepted `json:"tasks"`
}

// postTasks enqueues tasks of a game service. It responds after the tasks are on
// disk.
func (h serviceRoutes) postTasks(r *request) (any, error) {
	if _, err := h.authenticateTaskCall(r); err != nil {
		return nil, err
	}
	tasks, err := r.readTasks()
	if err != nil {
		return nil, err
	}
	accepted, err := h.Tasks.Enqueue(r.Context(), r.game, tasks)
	if err != nil {
		return nil, err
	}
	return httpserver.Response{Status: http.StatusAccepted, Body: enqueueResponse{accepted}}, nil
}

func (r *request) readTasks() ([]taskqueue.NewTask, error) {
	var body tasksBody
	if err := r.readBodyLimited(maxTasksBody, &body); err != nil {
		return nil, err
	}
	var tasks []taskqueue.NewTask
	for i, raw := range body.Tasks {
		if raw == nil {
			break
		}
		var task newTask
		if err := (protocol.Request{Type: fmt.Sprintf("tasks[%d]", i), Data: raw}).Decode(&task); err != nil {
			return nil, err
		}
		tasks = append(tasks, taskqueue.NewTask{
			Topic: task.Topic, Key: task.Key, Priority: task.Priority, Ordering: task.Ordering,
			NotBefore: task.NotBefore, MaxTries: task.MaxTries, Payload: task.Payload,
		})
	}
	return tasks, nil
}

type taskView struct {
	ID        string                   `json:"id"`
	Topic     string                   `json:"topic"`
	Key       string                   `json:"key"`
	Priority  int64                    `json:"priority"`
	Ordering  taskqueue.Ordering       `json:"ordering,omitempty"`
	State     taskqueue.State          `json:"state"`
	DueAt     int64                    `json:"due_at,omitempty"`
	Tries     int64                    `json:"tries"`
	MaxTries  int64                    `json:"max_tries"`
	Errors    []taskqueue.AttemptError `json:"errors"`
	CreatedAt int64                    `json:"created_at"`
	ChangedAt int64                    `json:"changed_at"`
	Payload   json.RawMessage          `json:"payload"`
}

func (h serviceRoutes) getTask(r *request) (any, error) {
	if _, err := h.authenticateTaskCall(r); err != nil {
		return nil, err
	}
	task, err := h.Tasks.Task(r.Context(), r.game, r.PathValue("task"))
	if err != nil {
		return nil, err
	}
	return taskView{
		ID: task.ID, Topic: task.Topic, Key: task.Key, Priority: task.Priority, Ordering: task.Ordering, State: task.State, DueAt: task.DueAt,
		Tries: task.Tries, MaxTries: task.MaxTries, Errors: nonNil(task.Errors), CreatedAt: task.CreatedAt, ChangedAt: task.ChangedAt, Payload: task.Payload,
	}, nil
}
