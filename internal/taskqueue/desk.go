package taskqueue

import (
	"context"
	"encoding/json"
)

// Hands do with a task what an operator asks for. Each gives the task as it is
// then. ErrNotFound, ErrDone.
type Hands interface {
	// Requeue has it tried now, with all its tries before it.
	Requeue(ctx context.Context, id string) (Task, error)
	// Edit gives it another payload. ErrBadTask.
	Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error)
	// Discard gives it up.
	Discard(ctx context.Context, id string) (Task, error)
}

// Changing is where tasks are looked up and changed, by one caller at a time.
type Changing interface {
	Task(ctx context.Context, id string) (Task, error)
	ChangeTask(ctx context.Context, id string, change func(*Task) error) (Task, error)
}

// Desk is Hands for tasks of every topic: some topics have hands of their own.
type Desk struct {
	store Changing
	own   map[string]Hands
}

// NewDesk makes a desk; own are the hands of topics.
func NewDesk(store Changing, own map[string]Hands) *Desk { return &Desk{store, own} }

// Requeue implements Hands.
func (d *Desk) Requeue(ctx context.Context, id string) (Task, error) {
	return d.hand(ctx, id, func(h Hands) (Task, error) { return h.Requeue(ctx, id) })
}

// Edit implements Hands.
func (d *Desk) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	return d.hand(ctx, id, func(h Hands) (Task, error) { return h.Edit(ctx, id, payload) })
}

// Discard implements Hands.
func (d *Desk) Discard(ctx context.Context, id string) (Task, error) {
	return d.hand(ctx, id, func(h Hands) (Task, error) { return h.Discard(ctx, id) })
}

// hand hands a task to those who deal with its topic.
func (d *Desk) hand(ctx context.Context, id string, do func(Hands) (Task, error)) (Task, error) {
	t, err := d.store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if own := d.own[t.Topic]; own != nil {
		return do(own)
	}
	return do(plain{d.store})
}

// plain are the hands of topics that have none of their own.
type plain struct{ store Changing }

func (p plain) Requeue(ctx context.Context, id string) (Task, error) {
	return p.store.ChangeTask(ctx, id, (*Task).Requeue)
}

func (p plain) Edit(ctx context.Context, id string, payload json.RawMessage) (Task, error) {
	if err := checkPayload(payload); err != nil {
		return Task{}, err
	}
	return p.store.ChangeTask(ctx, id, func(t *Task) error { return t.Edit(payload) })
}

func (p plain) Discard(ctx context.Context, id string) (Task, error) {
	return p.store.ChangeTask(ctx, id, (*Task).Discard)
}
