package taskqueue

// Queue is the state of one queue: the tasks of one topic and priority. Each
// task has a position, from 1, in the order of the commits. An ordered queue hands
// out its head again by moving Scan back to the position before it.
type Queue struct {
	QueueID

	Ordering    Ordering `json:"ordering,omitempty"`
	Pos         int64    `json:"pos"`            // the last position assigned
	Scan        int64    `json:"scan"`           // tasks up to this position have been handed out
	Done        int64    `json:"done"`           // tasks up to this position have ended or left the queue
	Head        string   `json:"head,omitempty"` // id of the task that an ordered queue waits for; "": none
	VirtualTime int64    `json:"-"`              // virtual time of stride scheduling: sum of the strides of the tasks handed out
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
