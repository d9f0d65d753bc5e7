package taskqueue

import (
	"encoding/json"
	"errors"
)

// Settle is the topic of results that the ledger refuses: the key is the
// match's id, the payload the result. Its tasks are dead from the start.
const Settle = "settle"

// State says what has become of a task.
type State string

// The states of a task.
const (
	Waiting   State = "waiting"   // in its line
	Claimed   State = "claimed"   // a worker has it, until its lease ends
	Later     State = "later"     // out of its line until it is due
	Dead      State = "dead"      // given up: it waits for an operator
	Done      State = "done"      // done
	Discarded State = "discarded" // an operator wants nothing done
)

// States are all there are.
func States() []State { return []State{Waiting, Claimed, Later, Dead, Done, Discarded} }

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
	Priority  int64           `json:"priority"`
	Ordering  Ordering        `json:"ordering,omitempty"`
	State     State           `json:"state"`
	Pos       int64           `json:"pos,omitempty"`       // its place in its line, if it has one
	Fence     int64           `json:"fence,omitempty"`     // of its newest lease
	DueAt     int64           `json:"due_at,omitempty"`    // claimed: the lease's end; later: when it comes back
	Tries     int64           `json:"tries"`               // that have ended, since it was last requeued
	MaxTries  int64           `json:"max_tries,omitempty"` // then it is dead
	Errors    []Failure       `json:"errors"`              // of the last tries, oldest first
	CreatedAt int64           `json:"created_at"`          // by the database's clock, epoch ms, as all instants
	ChangedAt int64           `json:"changed_at"`
	Payload   json.RawMessage `json:"payload,omitempty"` // not in lists
}

// Line is where the task waits, or would.
func (t *Task) Queue() QueueID { return QueueID{t.Topic, t.Priority} }

// Lease is the right to end a try of the task.
func (t *Task) Lease() Lease { return Lease{t.ID, t.Fence} }

// Failure is why a try failed.
type Failure struct {
	At    int64  `json:"at"` // epoch ms
	Error string `json:"error"`
}

// Filter chooses tasks: those that agree with every field that is not "".
type Filter struct {
	Game, Topic, Key string
	State            State
	OldestFirst      bool
}
