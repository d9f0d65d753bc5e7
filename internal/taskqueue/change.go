package taskqueue

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	maxErrors = 20  // errors that a task remembers
	maxError  = 500 // bytes of each error
)

// errExpired is the error of an attempt whose lease ended.
var errExpired = errors.New("the lease ended before the try did: the worker died, hung or was cut off")

// RecordFailure records a failed attempt as its worker reports it. It returns
// ErrDone if the task succeeded elsewhere.
func (t *Task) RecordFailure(now int64, f *FailedAttempt) error {
	switch {
	case f.Postponed:
		t.Postpone(now, f.Wait)
	case f.Final:
		return t.Fail(now, f.Err)
	default:
		t.Retry(now, f.Err, f.Wait)
	}
	return nil
}

// Fail records a failed attempt and makes the task dead. It returns ErrDone if
// the task succeeded elsewhere.
func (t *Task) Fail(now int64, cause error) error {
	if t.State == Done {
		return ErrDone
	}
	t.addError(now, cause)
	t.State, t.DueAt = Dead, 0
	return nil
}

// Retry records a failed attempt. The task comes back after the wait. It is
// dead if that was its last attempt.
func (t *Task) Retry(now int64, cause error, wait time.Duration) {
	t.addError(now, cause)
	t.State, t.DueAt = Later, now+max(0, wait.Milliseconds())
	if t.Tries >= t.MaxTries {
		t.State, t.DueAt = Dead, 0
	}
}

// Postpone returns the task after a wait. The attempt does not count, because
// it was not made.
func (t *Task) Postpone(now int64, wait time.Duration) {
	t.State, t.DueAt = Later, now+max(0, wait.Milliseconds())
}

// HandleDue moves a task on whose time has come: its wait is over, or its lease
// has ended. An ended lease counts as a failed attempt.
func (t *Task) HandleDue(now int64) {
	if t.State == Claimed {
		t.addError(now, errExpired)
	}
	if t.State == Claimed && t.Tries >= t.MaxTries {
		t.State, t.DueAt = Dead, 0
		return
	}
	t.Return()
}

// Return puts back a task whose attempt was not made.
func (t *Task) Return() { t.State, t.DueAt = Waiting, 0 }

func (t *Task) addError(now int64, cause error) {
	text := cause.Error()
	text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	t.Tries, t.Errors = t.Tries+1, append(t.Errors, Failure{now, text})
	t.Errors = slices.Delete(t.Errors, 0, max(0, len(t.Errors)-maxErrors))
}

// Finish records the successful attempt and the payload that it used.
func (t *Task) Finish(payload json.RawMessage) {
	if t.State != Done {
		t.State, t.DueAt, t.Tries, t.Payload = Done, 0, t.Tries+1, payload
	}
}

// Edit changes the payload for the next attempt and keeps the state. It returns
// ErrDone for a task that is done.
func (t *Task) Edit(payload json.RawMessage) error {
	if t.State == Done {
		return ErrDone
	}
	t.Payload = payload
	return nil
}

// Discard gives a task up. An attempt under way no longer counts, and an
// operator can still requeue the task. It returns ErrDone for a task that is
// done.
func (t *Task) Discard() error {
	if t.State == Done {
		return ErrDone
	}
	t.State, t.DueAt = Discarded, 0
	return nil
}

// Requeue makes a task ready that is dead, discarded or not yet due. All its
// attempts are available again. It returns ErrDone for a task that is done.
func (t *Task) Requeue() error {
	switch t.State {
	case Done:
		return ErrDone
	case Waiting, Claimed:
		return nil
	}
	t.Return()
	t.Tries, t.MaxTries = 0, max(t.MaxTries, 1)
	return nil
}
