package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// maxTasksBody bounds the body of a call that enqueues, in bytes: as many tasks
// as it may have, of payloads as large as they may be.
const maxTasksBody = 8 << 20

// tasksBody asks for tasks to be enqueued. It holds one more than a call may
// have, as behavioursBody does.
type tasksBody struct {
	Tasks [taskqueue.MaxPerCall + 1]json.RawMessage `json:"tasks" need:"true"`
}

// newTask is one of them.
type newTask struct {
	Topic     string             `json:"topic" need:"true"`
	Key       string             `json:"key" need:"true"`
	Priority  int64              `json:"priority"`
	Ordering  taskqueue.Ordering `json:"ordering"`
	NotBefore int64              `json:"not_before"`
	MaxTries  int64              `json:"max_tries"`
	Payload   json.RawMessage    `json:"payload" need:"true"`
}

// enqueued are the tasks of a call, in its order.
type enqueued struct {
	Tasks []taskqueue.Accepted `json:"tasks"`
}

// postTasks enqueues what a game's own services have to do. It is answered once
// that is on disk.
func (a *api) postTasks(w http.ResponseWriter, r *request) error {
	if _, err := a.worker(r); err != nil {
		return err
	}
	tasks, err := readTasks(w, r.Request)
	if err != nil {
		return err
	}
	accepted, err := a.Tasks.Enqueue(r.Context(), r.game, tasks)
	if err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, enqueued{accepted})
}

func readTasks(w http.ResponseWriter, r *http.Request) ([]taskqueue.NewTask, error) {
	var body tasksBody
	if err := readBodyUpTo(maxTasksBody, w, r, &body); err != nil {
		return nil, err
	}
	var tasks []taskqueue.NewTask
	for i, raw := range body.Tasks {
		if raw == nil {
			break
		}
		var t newTask
		if err := (protocol.Request{Type: fmt.Sprintf("tasks[%d]", i), Data: raw}).Decode(&t); err != nil {
			return nil, err
		}
		tasks = append(tasks, taskqueue.NewTask{
			Topic: t.Topic, Key: t.Key, Priority: t.Priority, Ordering: t.Ordering,
			NotBefore: t.NotBefore, MaxTries: t.MaxTries, Payload: t.Payload,
		})
	}
	return tasks, nil
}

// taskView is a task of a game's own.
type taskView struct {
	ID        string              `json:"id"`
	Topic     string              `json:"topic"`
	Key       string              `json:"key"`
	Priority  int64               `json:"priority"`
	Ordering  taskqueue.Ordering  `json:"ordering,omitempty"`
	State     taskqueue.State     `json:"state"`
	DueAt     int64               `json:"due_at,omitempty"`
	Tries     int64               `json:"tries"`
	MaxTries  int64               `json:"max_tries"`
	Errors    []taskqueue.Failure `json:"errors"`
	CreatedAt int64               `json:"created_at"`
	ChangedAt int64               `json:"changed_at"`
	Payload   json.RawMessage     `json:"payload"`
}

func (a *api) getTask(w http.ResponseWriter, r *request) error {
	if _, err := a.worker(r); err != nil {
		return err
	}
	t, err := a.Tasks.Task(r.Context(), r.game, r.PathValue("task"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, taskView{
		ID: t.ID, Topic: t.Topic, Key: t.Key, Priority: t.Priority, Ordering: t.Ordering, State: t.State, DueAt: t.DueAt,
		Tries: t.Tries, MaxTries: t.MaxTries, Errors: list(t.Errors), CreatedAt: t.CreatedAt, ChangedAt: t.ChangedAt, Payload: t.Payload,
	})
}
