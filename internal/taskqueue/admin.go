package taskqueue

import (
	"context"
	"encoding/json"
)

// TaskActions are the actions of an operator on one task. Each returns the task
// after the change, or ErrNotFound or ErrDone.
type TaskActions interface {
	// Requeue puts the task into its queue now. The number of its attempts
	// starts again at 0.
	Requeue(ctx context.Context, id string) (Task, error)
	// Edit replaces the payload. It returns ErrBadTask for a bad payload.
	Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error)
	// Discard ends the task without success. Requeue can undo this.
	Discard(ctx context.Context, id string) (Task, error)
}

// ChangeStore looks tasks up and changes them. ChangeTask runs the function
// change in a transaction, for one caller at a time. If change returns an
// error, the task stays as it was.
type ChangeStore interface {
	Task(ctx context.Context, id string) (Task, error)
	ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error)
}

// Admin implements TaskActions for tasks of every topic. It passes calls for
// some topics to special implementations.
type Admin struct {
	store   ChangeStore
	byTopic map[string]TaskActions
}

// NewAdmin returns an Admin. byTopic has the topics with special actions; it
// may be nil.
func NewAdmin(store ChangeStore, byTopic map[string]TaskActions) *Admin {
	return &Admin{store, byTopic}
}

// Requeue implements TaskActions.
func (a *Admin) Requeue(ctx context.Context, id string) (Task, error) {
	return a.dispatch(ctx, id, func(actions TaskActions) (Task, error) { return actions.Requeue(ctx, id) })
}

// Edit implements TaskActions.
func (a *Admin) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	return a.dispatch(ctx, id, func(actions TaskActions) (Task, error) { return actions.Edit(ctx, id, payload) })
}

// Discard implements TaskActions.
func (a *Admin) Discard(ctx context.Context, id string) (Task, error) {
	return a.dispatch(ctx, id, func(actions TaskActions) (Task, error) { return actions.Discard(ctx, id) })
}

// dispatch looks the task up and calls one of the actions of its topic.
func (a *Admin) dispatch(ctx context.Context, id string, call func(TaskActions) (Task, error)) (Task, error) {
	task, err := a.store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if actions := a.byTopic[task.Topic]; actions != nil {
		return call(actions)
	}
	return call(defaultActions{a.store})
}

// defaultActions are the actions of topics without special actions.
type defaultActions struct{ store ChangeStore }

func (d defaultActions) Requeue(ctx context.Context, id string) (Task, error) {
	return d.store.ChangeTask(ctx, id, (*Task).Requeue)
}

func (d defaultActions) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	if err := checkPayload(payload); err != nil {
		return Task{}, err
	}
	return d.store.ChangeTask(ctx, id, func(t *Task) error { return t.Edit(payload) })
}

func (d defaultActions) Discard(ctx context.Context, id string) (Task, error) {
	return d.store.ChangeTask(ctx, id, (*Task).Discard)
}
