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

// Queue is the state of one queue: the tasks of one topic and priority. Each
// task has a position, from 1, in the order of the commits. An ordered queue hands
// out its head again by moving Scan back to the position before it.
type Queue struct {
	QueueID

	Ordering    Ordering `json:"ordering,omitempty"`
	Pos         int64    `json:"last_position"`        // the last position assigned
	Scan        int64    `json:"claimed_position"`     // tasks up to this position have been handed out
	Done        int64    `json:"finished_position"`    // tasks up to this position have ended or left the queue
	Head        string   `json:"blocked_by,omitempty"` // id of the task that an ordered queue waits for; "": none
	VirtualTime int64    `json:"-"`                    // virtual time of stride scheduling: sum of the strides of the tasks handed out
}

// QueueFilter selects queues that match every field that is not zero.
type QueueFilter struct {
	Kind, Topic string
	Busy        bool // only queues with tasks that have not ended
}

// Backlog counts the waiting tasks in the queues of a kind.
type Backlog struct {
	Kind  string
	Ready int64 // queues with a task to hand out
	Tasks int64 // positions that are not handed out
}

// stride returns by how much one task increases VirtualTime of its queue: half
// as much as a task of the next lower priority. Example: it is 1 for priority 7
// and 2 for priority 6. So priority 7 gets two tasks for each one of priority 6.
func stride(priority int64) int64 { return 1 << (MaxPriority - priority) }

// availablePositions returns the next position to hand out, and how many positions
// can be handed out from there.
func (q *Queue) availablePositions() (pos, count int64) {
	switch {
	case q.Head != "":
		return 0, 0
	case q.Ordering != Unordered:
		return q.Scan + 1, min(1, q.Pos-q.Scan)
	}
	return q.Scan + 1, q.Pos - q.Scan
}

// Allocation is the range of positions of a queue that a claim may hand out,
// from First to Last. It is empty if Last is less than First.
type Allocation struct {
	Queue       *Queue
	First, Last int64
}

// Allocate divides up to n positions among queues by stride scheduling
// (Waldspurger and Weihl, 1995): each position goes to the queue with the least
// VirtualTime so far.
func Allocate(queues []Queue, n int) []Allocation {
	allocations, remaining, virtualTimes := make([]Allocation, len(queues)), make([]int64, len(queues)), make([]int64, len(queues))
	for i := range queues {
		first, count := queues[i].availablePositions()
		allocations[i], remaining[i], virtualTimes[i] = Allocation{&queues[i], first, first - 1}, count, queues[i].VirtualTime
	}
	for range n {
		chosen := -1
		for i := range queues {
			if remaining[i] > 0 && (chosen < 0 || virtualTimes[i] < virtualTimes[chosen]) {
				chosen = i
			}
		}
		if chosen < 0 {
			break
		}
		allocations[chosen].Last++
		remaining[chosen]--
		virtualTimes[chosen] += stride(queues[chosen].Priority)
	}
	return allocations
}

// AdvanceQueue moves the cursor Scan of the queue to the end of the allocation. The
// parameter tasks says how many tasks at these positions still existed. The id
// is that of the last of them.
func (a *Allocation) AdvanceQueue(tasks int64, id string) {
	queue := a.Queue
	queue.Scan = max(queue.Scan, a.Last)
	queue.VirtualTime += tasks * stride(queue.Priority)
	switch {
	case tasks == 0: // Head no longer exists, so the queue need not wait for it
		queue.Head = ""
	case queue.Ordering != Unordered:
		queue.Head = id
	}
}
