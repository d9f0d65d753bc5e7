package taskqueue

import (
	"context"
	"encoding/json"
)

// ChangeStore looks tasks up and changes them. ChangeTask runs the function
// change in a transaction, for one caller at a time. If change returns an
// error, the task stays as it was.
type ChangeStore interface {
	Task(ctx context.Context, id string) (Task, error)
	ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error)
}

// TopicActions are the actions on the tasks of a topic that differ from those
// on other tasks.
type TopicActions interface {
	Requeue(ctx context.Context, id string) (Task, error)
	// CheckPayload returns an error if the task cannot have the payload.
	CheckPayload(t *Task, payload json.RawMessage) error
}

// Admin has the actions of an operator on one task. Each returns the task after
// the change, or ErrNotFound or ErrDone.
type Admin struct {
	store   ChangeStore
	byTopic map[string]TopicActions
}

// NewAdmin returns an Admin. byTopic has the topics with special actions.
func NewAdmin(store ChangeStore, byTopic map[string]TopicActions) *Admin {
	return &Admin{store, byTopic}
}

// Requeue puts the task into its queue now. The number of its attempts starts
// again at 0.
func (a *Admin) Requeue(ctx context.Context, id string) (Task, error) {
	task, err := a.store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if special := a.byTopic[task.Topic]; special != nil {
		return special.Requeue(ctx, id)
	}
	return a.store.ChangeTask(ctx, id, (*Task).Requeue)
}

// Edit replaces the payload. It returns ErrBadTask for a bad payload.
func (a *Admin) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	return a.store.ChangeTask(ctx, id, func(t *Task) error {
		err := checkPayload(payload)
		if special := a.byTopic[t.Topic]; special != nil {
			err = special.CheckPayload(t, payload)
		}
		if err != nil {
			return err
		}
		return t.Edit(payload)
	})
}

// Discard ends the task without success. Requeue can undo this.
func (a *Admin) Discard(ctx context.Context, id string) (Task, error) {
	return a.store.ChangeTask(ctx, id, (*Task).Discard)
}
