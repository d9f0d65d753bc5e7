package taskqueue

import (
	"context"
	"encoding/json"
)

// TaskActions are what an operator can do with a task. Each returns the task as
// it is afterwards, or ErrNotFound or ErrDone.
type TaskActions interface {
	// Requeue tries the task now. All its attempts are available again.
	Requeue(ctx context.Context, id string) (Task, error)
	// Edit replaces the payload. It returns ErrBadTask for a bad payload.
	Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error)
	// Discard gives the task up.
	Discard(ctx context.Context, id string) (Task, error)
}

// ChangeStore looks tasks up and changes them. Only one caller at a time
// changes a task.
type ChangeStore interface {
	Task(ctx context.Context, id string) (Task, error)
	ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error)
}

// Admin implements TaskActions for tasks of every topic. Some topics have
// actions of their own.
type Admin struct {
	store   ChangeStore
	byTopic map[string]TaskActions
}

// NewAdmin returns an Admin. byTopic has the actions of topics that need their
// own.
func NewAdmin(store ChangeStore, byTopic map[string]TaskActions) *Admin {
	return &Admin{store, byTopic}
}

// Requeue implements TaskActions.
func (d *Admin) Requeue(ctx context.Context, id string) (Task, error) {
	return d.dispatch(ctx, id, func(h TaskActions) (Task, error) { return h.Requeue(ctx, id) })
}

// Edit implements TaskActions.
func (d *Admin) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	return d.dispatch(ctx, id, func(h TaskActions) (Task, error) { return h.Edit(ctx, id, payload) })
}

// Discard implements TaskActions.
func (d *Admin) Discard(ctx context.Context, id string) (Task, error) {
	return d.dispatch(ctx, id, func(h TaskActions) (Task, error) { return h.Discard(ctx, id) })
}

// dispatch calls the actions of the task's topic.
func (d *Admin) dispatch(ctx context.Context, id string, do func(TaskActions) (Task, error)) (Task, error) {
	t, err := d.store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if actions := d.byTopic[t.Topic]; actions != nil {
		return do(actions)
	}
	return do(defaultActions{d.store})
}

// defaultActions are the actions of topics without their own.
type defaultActions struct{ store ChangeStore }

func (p defaultActions) Requeue(ctx context.Context, id string) (Task, error) {
	return p.store.ChangeTask(ctx, id, (*Task).Requeue)
}

func (p defaultActions) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	if err := checkPayload(payload); err != nil {
		return Task{}, err
	}
	return p.store.ChangeTask(ctx, id, func(t *Task) error { return t.Edit(payload) })
}

func (p defaultActions) Discard(ctx context.Context, id string) (Task, error) {
	return p.store.ChangeTask(ctx, id, (*Task).Discard)
}
