package taskqueue

import (
	"encoding/json"
	"errors"
)

// SettleTopic is the topic of match results that the ledger refused. The key of such
// a task is the match id, the payload is the result. These tasks are dead from
// the start, so that only an operator can settle them.
const SettleTopic = "settle"

// State is the state of a task.
type State string

// The states of a task.
const (
	StateWaiting   State = "waiting"   // in its queue, ready for a worker
	StateClaimed   State = "claimed"   // a worker has it until its lease ends
	StateLater     State = "later"     // outside its queue until DueAt
	StateDead      State = "dead"      // its last attempt has failed; an operator can requeue it
	StateDone      State = "done"      // a worker has completed it
	StateDiscarded State = "discarded" // an operator has discarded it
)

// States returns all states.
func States() []State {
	return []State{StateWaiting, StateClaimed, StateLater, StateDead, StateDone, StateDiscarded}
}

// Ordering says whether the tasks of a queue wait for each other. A queue has
// the ordering of its last enqueued task.
type Ordering string

// The orderings.
const (
	// Unordered hands tasks out to any number of workers at the same time.
	Unordered Ordering = ""
	// Ordered hands out one task at a time, in the order of their commits. The
	// later tasks wait until a failing task has succeeded or is dead.
	Ordered Ordering = "ordered"
	// OrderedPausing is like Ordered, but the later tasks also wait for a dead task,
	// until an operator requeues or discards it.
	OrderedPausing Ordering = "pausing"
)

// Lease is the right of a worker to end one attempt of a task. Each new lease
// of a task has a higher fence than the ones before. Only the newest lease
// counts.
type Lease struct {
	ID    string `json:"id" need:"true"`    // of the task
	Fence int64  `json:"fence" need:"true"` // fencing token
}

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
	Errors    []AttemptError  `json:"errors"`              // errors of the last attempts, oldest first
	CreatedAt int64           `json:"created_at"`
	ChangedAt int64           `json:"changed_at"`
	Payload   json.RawMessage `json:"payload,omitempty"` // absent in lists
}

// QueueID identifies a queue.
type QueueID struct {
	Topic    string `json:"topic"`
	Priority int64  `json:"priority"`
}

// QueueID returns the queue that the task belongs to, even while the task is
// outside the queue.
func (t *Task) QueueID() QueueID { return QueueID{t.Topic, t.Priority} }

// Lease returns the newest lease of the task.
func (t *Task) Lease() Lease { return Lease{t.ID, t.Fence} }

// AttemptError is the error of one attempt.
type AttemptError struct {
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
