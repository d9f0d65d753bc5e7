package taskqueue

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	maxErrors = 20  // that a task remembers
	maxError  = 500 // bytes of each
)

// errExpired is the reason of a try of which nothing more was heard.
var errExpired = errors.New("the lease ended before the try did: the worker died, hung or was cut off")

// End notes a try that failed, as its worker says. ErrDone: it succeeded
// elsewhere.
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

// Fail notes a try that failed, after which the task is dead. ErrDone: it
// succeeded elsewhere.
func (t *Task) Fail(now int64, cause error) error {
	if t.State == Done {
		return ErrDone
	}
	t.addError(now, cause)
	t.State, t.DueAt = Dead, 0
	return nil
}

// Retry notes a try that failed. The task comes back after a wait, unless that
// was its last try.
func (t *Task) Retry(now int64, cause error, wait time.Duration) {
	t.addError(now, cause)
	t.State, t.DueAt = Later, now+max(0, wait.Milliseconds())
	if t.Tries >= t.MaxTries {
		t.State, t.DueAt = Dead, 0
	}
}

// Postpone has a task come back after a wait, as its try was not made.
func (t *Task) Postpone(now int64, wait time.Duration) {
	t.State, t.DueAt = Later, now+max(0, wait.Milliseconds())
}

// Due has a task go on whose instant has come: the wait is over, or the lease,
// which is a try that failed.
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

// Return puts a task back whose try was not made.
func (t *Task) Return() { t.State, t.DueAt = Waiting, 0 }

func (t *Task) addError(now int64, cause error) {
	text := cause.Error()
	text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	t.Tries, t.Errors = t.Tries+1, append(t.Errors, Failure{now, text})
	t.Errors = slices.Delete(t.Errors, 0, max(0, len(t.Errors)-maxErrors))
}

// Finish notes the try that succeeded, with the payload that it was made with.
func (t *Task) Finish(payload json.RawMessage) {
	if t.State != Done {
		t.State, t.DueAt, t.Tries, t.Payload = Done, 0, t.Tries+1, payload
	}
}

// Edit changes what is to be done, from the next try on, and leaves the state as
// it is. ErrDone.
func (t *Task) Edit(payload json.RawMessage) error {
	if t.State == Done {
		return ErrDone
	}
	t.Payload = payload
	return nil
}

// Discard gives a task up; it may be requeued all the same. A try under way
// counts for nothing. ErrDone.
func (t *Task) Discard() error {
	if t.State == Done {
		return ErrDone
	}
	t.State, t.DueAt = Discarded, 0
	return nil
}

// Requeue has a task that is dead, discarded or not yet due tried now, with all
// its tries before it. ErrDone.
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
