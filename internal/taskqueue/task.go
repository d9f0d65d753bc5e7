package taskqueue

import (
	"encoding/json"
	"errors"
)

// Settle is the topic of match results that the ledger refused. The key of such
// a task is the match id, the payload is the result. These tasks are dead from
// the start, so that only an operator can settle them.
const Settle = "settle"

// State is the state of a task.
type State string

// The states of a task.
const (
	Waiting   State = "waiting"   // in its queue, ready for a worker
	Claimed   State = "claimed"   // a worker has it until its lease ends
	Later     State = "later"     // outside its queue until DueAt
	Dead      State = "dead"      // its last attempt has failed; an operator can requeue it
	Done      State = "done"      // a worker has completed it
	Discarded State = "discarded" // an operator has discarded it
)

// States returns all states.
func States() []State { return []State{Waiting, Claimed, Later, Dead, Done, Discarded} }

// Errors whose texts are for operators. The store wraps the first two.
var (
	ErrNotFound  = errors.New("there is no such task")
	ErrBadCursor = errors.New("the cursor does not come from this list")
	ErrDone      = errors.New("the task is done and cannot be changed")
)

// Task is a stored task. No two tasks have the same game, topic and key. All
// times are in epoch ms, by the database's clock.
type Task struct {
	ID        string          `json:"id"`
	Game      string          `json:"game"`
	Topic     string          `json:"topic"`
	Key       string          `json:"key"`
	Priority  int64           `json:"priority"`
	Ordering  Ordering        `json:"ordering,omitempty"`
	State     State           `json:"state"`
	Pos       int64           `json:"pos,omitempty"`       // its position in its queue; 0: outside the queue
	Fence     int64           `json:"fence,omitempty"`     // fencing token of its newest lease
	DueAt     int64           `json:"due_at,omitempty"`    // claimed: when the lease ends; later: when it returns to its queue
	Tries     int64           `json:"tries"`               // attempts that have ended since an operator last requeued it
	MaxTries  int64           `json:"max_tries,omitempty"` // failed attempts after which it is dead
	Errors    []Failure       `json:"errors"`              // errors of the last attempts, oldest first
	CreatedAt int64           `json:"created_at"`
	ChangedAt int64           `json:"changed_at"`
	Payload   json.RawMessage `json:"payload,omitempty"` // absent in lists
}

// Queue returns the queue that the task belongs to, even while the task is
// outside the queue.
func (t *Task) Queue() QueueID { return QueueID{t.Topic, t.Priority} }

// Lease returns the newest lease of the task.
func (t *Task) Lease() Lease { return Lease{t.ID, t.Fence} }

// Failure is the error of one attempt.
type Failure struct {
	At    int64  `json:"at"` // epoch ms
	Error string `json:"error"`
}

// Filter selects tasks that match every field that is not "". OldestFirst is the
// order of the list; the default is newest first.
type Filter struct {
	Game, Topic, Key string
	State            State
	OldestFirst      bool
}
