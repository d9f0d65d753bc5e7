// Package eventq holds what waits to be done on its own account, by topic. So
// far that is one topic: results that the ledger refuses, for an operator to
// mend.
package eventq

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Settle is the topic of results that the ledger refuses: the key is the
// match's id, the payload the result.
const Settle = "settle"

// State says what has become of a task.
type State string

// The states of a task.
const (
	Dead      State = "dead"      // given up: it waits for an operator
	Done      State = "done"      // done after all
	Discarded State = "discarded" // an operator wants nothing done
)

// States are all there are.
func States() []State { return []State{Dead, Done, Discarded} }

// What is refused, in words that an operator may see. The store wraps the
// first two.
var (
	ErrNotFound  = errors.New("there is no such task")
	ErrBadCursor = errors.New("the cursor is not one that this list has given")
	ErrDone      = errors.New("the task is done: nothing of it can be changed")
)

// Task is a piece of work. Of a topic and game each key is there once.
type Task struct {
	ID        string          `json:"id"`
	Game      string          `json:"game"`
	Topic     string          `json:"topic"`
	Key       string          `json:"key"`
	State     State           `json:"state"`
	Tries     int64           `json:"tries"`
	Errors    []Failure       `json:"errors"`     // of the last tries, oldest first
	CreatedAt int64           `json:"created_at"` // by the database's clock, epoch ms
	ChangedAt int64           `json:"changed_at"`
	Payload   json.RawMessage `json:"payload,omitempty"` // not in lists
}

// Failure is why a try failed.
type Failure struct {
	At    int64  `json:"at"` // cluster time, epoch ms
	Error string `json:"error"`
}

const (
	maxErrors = 20  // that a task remembers
	maxError  = 500 // bytes of each
)

// Fail notes a try that failed, after which the task is dead. ErrDone: it
// succeeded elsewhere.
func (t *Task) Fail(at int64, why error) error {
	if t.State == Done {
		return ErrDone
	}
	text := why.Error()
	text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	t.State, t.Tries, t.Errors = Dead, t.Tries+1, append(t.Errors, Failure{at, text})
	t.Errors = slices.Delete(t.Errors, 0, max(0, len(t.Errors)-maxErrors))
	return nil
}

// Finish notes the try that succeeded, with the payload that it was made with.
func (t *Task) Finish(payload json.RawMessage) {
	if t.State != Done {
		t.State, t.Tries, t.Payload = Done, t.Tries+1, payload
	}
}

// Edit changes what is to be done, and leaves the state as it is. ErrDone.
func (t *Task) Edit(payload json.RawMessage) error {
	if t.State == Done {
		return ErrDone
	}
	t.Payload = payload
	return nil
}

// Discard gives a task up; it may be requeued all the same. ErrDone.
func (t *Task) Discard() error {
	if t.State == Done {
		return ErrDone
	}
	t.State = Discarded
	return nil
}

// Filter chooses tasks: those that agree with every field that is not "".
type Filter struct {
	Game, Topic, Key string
	State            State
}
