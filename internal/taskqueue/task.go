package taskqueue

import (
	"encoding/json"
	"errors"
)

// Settle is the topic of results that the ledger refused. The key is the match
// id, the payload the result. Its tasks are dead from the start.
const Settle = "settle"

// State is the state of a task.
type State string

// The states of a task.
const (
	Waiting   State = "waiting"   // in its queue
	Claimed   State = "claimed"   // a worker has it until its lease ends
	Later     State = "later"     // outside its queue until it is due
	Dead      State = "dead"      // given up: it waits for an operator
	Done      State = "done"      // done
	Discarded State = "discarded" // an operator gave it up
)

// States returns all states.
func States() []State { return []State{Waiting, Claimed, Later, Dead, Done, Discarded} }

// Errors with texts for operators. The store wraps the first two.
var (
	ErrNotFound  = errors.New("there is no such task")
	ErrBadCursor = errors.New("the cursor is not one that this list has given")
	ErrDone      = errors.New("the task is done: nothing of it can be changed")
)

// Task is a piece of work. A key occurs once per game and topic.
type Task struct {
	ID        string          `json:"id"`
	Game      string          `json:"game"`
	Topic     string          `json:"topic"`
	Key       string          `json:"key"`
	Priority  int64           `json:"priority"`
	Ordering  Ordering        `json:"ordering,omitempty"`
	State     State           `json:"state"`
	Pos       int64           `json:"pos,omitempty"`       // its position in its queue, 0 if it has none
	Fence     int64           `json:"fence,omitempty"`     // of its newest lease
	DueAt     int64           `json:"due_at,omitempty"`    // claimed: the end of the lease; later: when it comes back
	Tries     int64           `json:"tries"`               // attempts that have ended since it was last requeued
	MaxTries  int64           `json:"max_tries,omitempty"` // attempts after which it is dead
	Errors    []Failure       `json:"errors"`              // of the last attempts, oldest first
	CreatedAt int64           `json:"created_at"`          // by the database's clock, epoch ms, as all instants
	ChangedAt int64           `json:"changed_at"`
	Payload   json.RawMessage `json:"payload,omitempty"` // absent in lists
}

// Queue returns the queue of the task, also while the task is outside it.
func (t *Task) Queue() QueueID { return QueueID{t.Topic, t.Priority} }

// Lease returns the right to end an attempt of the task.
func (t *Task) Lease() Lease { return Lease{t.ID, t.Fence} }

// Failure is the error of one attempt.
type Failure struct {
	At    int64  `json:"at"` // epoch ms
	Error string `json:"error"`
}

// Filter selects tasks that match every field that is not "".
type Filter struct {
	Game, Topic, Key string
	State            State
	OldestFirst      bool
}
