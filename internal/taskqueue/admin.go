package taskqueue

import (
	"context"
	"encoding/json"
)

// Hands do with a task what an operator asks for. Each gives the task as it is
// then. ErrNotFound, ErrDone.
type TaskActions interface {
	// Requeue has it tried now, with all its tries before it.
	Requeue(ctx context.Context, id string) (Task, error)
	// Edit gives it another payload. ErrBadTask.
	Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error)
	// Discard gives it up.
	Discard(ctx context.Context, id string) (Task, error)
}

// Changing is where tasks are looked up and changed, by one caller at a time.
type ChangeStore interface {
	Task(ctx context.Context, id string) (Task, error)
	ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error)
}

// Desk is Hands for tasks of every topic: some topics have hands of their own.
type Admin struct {
	store   ChangeStore
	byTopic map[string]TaskActions
}

// NewDesk makes a desk; own are the hands of topics.
func NewAdmin(store ChangeStore, byTopic map[string]TaskActions) *Admin {
	return &Admin{store, byTopic}
}

// Requeue implements Hands.
func (d *Admin) Requeue(ctx context.Context, id string) (Task, error) {
	return d.dispatch(ctx, id, func(h TaskActions) (Task, error) { return h.Requeue(ctx, id) })
}

// Edit implements Hands.
func (d *Admin) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	return d.dispatch(ctx, id, func(h TaskActions) (Task, error) { return h.Edit(ctx, id, payload) })
}

// Discard implements Hands.
func (d *Admin) Discard(ctx context.Context, id string) (Task, error) {
	return d.dispatch(ctx, id, func(h TaskActions) (Task, error) { return h.Discard(ctx, id) })
}

// hand hands a task to those who deal with its topic.
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

// plain are the hands of topics that have none of their own.
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
