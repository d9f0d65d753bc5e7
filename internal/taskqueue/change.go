package taskqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	maxStoredErrors = 20  // errors that are stored with a task, the newest
	maxErrorBytes   = 500 // bytes of each error; the rest is cut off
)

// errLeaseEnded is the stored error of an attempt whose lease ended.
var errLeaseEnded = errors.New("the lease ended before the attempt: the worker died, hung or lost its connection")

// RecordFailure records a failed attempt as its worker reported it; now is in epoch ms. The task
// returns to its queue after the wait, or becomes dead after its last attempt.
func (t *Task) RecordFailure(now int64, attempt *FailedAttempt) {
	wait := cmp.Or(attempt.Wait, attempt.Backoff.RandomWait(t.Tries+1))
	if !attempt.Postponed {
		t.addError(now, attempt.Err)
	}
	switch {
	case attempt.Final || !attempt.Postponed && t.Tries >= t.MaxTries:
		t.State, t.DueAt = StateDead, 0
	case attempt.Postponed && wait == 0:
		t.ReturnToQueue()
	default:
		t.Postpone(now, wait)
	}
	attempt.isDead = t.State == StateDead
}

// Fail records a failed attempt and makes the task dead. It returns ErrDone if
// another worker has completed the task.
func (t *Task) Fail(now int64, cause error) error {
	if t.State == StateDone {
		return ErrDone
	}
	t.addError(now, cause)
	t.State, t.DueAt = StateDead, 0
	return nil
}

// Postpone makes the task return to its queue after a wait. The attempt does
// not count, because the worker did not make it.
func (t *Task) Postpone(now int64, wait time.Duration) {
	t.State, t.DueAt = StateLater, now+max(0, wait.Milliseconds())
}

// HandleDue changes a task whose DueAt has passed. A delayed task returns to its
// queue. For a claimed task the lease has ended, which counts as a failed
// attempt: the task becomes dead after its last attempt, or returns to its
// queue.
func (t *Task) HandleDue(now int64) {
	leaseEnded := t.State == StateClaimed
	t.ReturnToQueue()
	if leaseEnded {
		if t.addError(now, errLeaseEnded); t.Tries >= t.MaxTries {
			t.State = StateDead
		}
	}
}

// ReturnToQueue returns a task to its queue. The attempt under way, if any, does not
// count.
func (t *Task) ReturnToQueue() { t.State, t.DueAt = StateWaiting, 0 }

func (t *Task) addError(now int64, cause error) {
	text := cause.Error()
	text = strings.ToValidUTF8(text[:min(len(text), maxErrorBytes)], "")
	t.Tries, t.Errors = t.Tries+1, append(t.Errors, AttemptError{now, text})
	t.Errors = slices.Delete(t.Errors, 0, max(0, len(t.Errors)-maxStoredErrors))
}

// Finish makes the task done. It counts the successful attempt and stores the
// payload that the attempt used.
func (t *Task) Finish(payload json.RawMessage) {
	if t.State != StateDone {
		t.State, t.DueAt, t.Tries, t.Payload = StateDone, 0, t.Tries+1, payload
	}
}

// Edit replaces the payload for the next attempt. The state stays. It returns
// ErrDone for a task that is done.
func (t *Task) Edit(payload json.RawMessage) error {
	if t.State == StateDone {
		return ErrDone
	}
	t.Payload = payload
	return nil
}

// Discard ends a task without success. The result of an attempt under way is
// ignored. An operator can still requeue the task. It returns ErrDone for a task
// that is done.
func (t *Task) Discard() error {
	if t.State == StateDone {
		return ErrDone
	}
	t.State, t.DueAt = StateDiscarded, 0
	return nil
}

// Requeue returns a dead, discarded or delayed task to its queue. Its number of
// attempts starts again at 0. A task in its queue, or with a worker, does not
// change. Requeue returns ErrDone for a task that is done.
func (t *Task) Requeue() error {
	switch t.State {
	case StateDone:
		return ErrDone
	case StateWaiting, StateClaimed:
		return nil
	}
	t.ReturnToQueue()
	t.Tries, t.MaxTries = 0, max(t.MaxTries, 1)
	return nil
}

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
