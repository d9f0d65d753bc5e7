package taskqueue

// QueueID names a queue.
type QueueID struct {
	Topic    string `json:"topic"`
	Priority int64  `json:"priority"`
}

// Queue is the tasks of one topic and priority in the order of their commits,
// and how far the queue has come. Both cursors only move forward.
type Queue struct {
	QueueID

	Ordering  Ordering `json:"ordering,omitempty"`
	Pos       int64    `json:"pos"`            // the last position assigned
	Scan      int64    `json:"scan"`           // tasks up to here have been handed out
	Done      int64    `json:"done"`           // tasks up to here have ended or left the queue
	Head      string   `json:"head,omitempty"` // the task that an ordered queue waits for
	Redeliver bool     `json:"-"`              // whether to hand out the head again
	VTime     int64    `json:"-"`              // how much the queue has been served, in strides
}

// QueueFilter selects queues that match every field that is not zero.
type QueueFilter struct {
	Kind, Topic string
	Busy        bool // tasks wait, or are handed out and have not ended
}

// Backlog counts what waits in the queues of a kind.
type Backlog struct {
	Kind  string
	Ready int64 // queues with a task to hand out
	Tasks int64 // positions that are not handed out
}

// stride returns what a task costs its queue: half as much as a task of the
// next lower priority. Example: priority 7 costs 1, priority 6 costs 2.
func stride(priority int64) int64 { return 1 << (MaxPriority - priority) }

// nextPositions returns the next position to hand out, and how many there are.
func (l *Queue) nextPositions() (pos, count int64) {
	switch {
	case l.Redeliver: // the cursor points to the head
		return l.Scan, 1
	case l.Head != "":
		return 0, 0
	case l.Ordering != Free:
		return l.Scan + 1, min(1, l.Pos-l.Scan)
	}
	return l.Scan + 1, l.Pos - l.Scan
}

// Allocation is a range of positions of a queue, First to Last. It is empty if
// Last is less than First.
type Allocation struct {
	Queue       *Queue
	First, Last int64
}

// Allocate divides up to n positions among queues by stride scheduling
// (Waldspurger and Weihl, 1995): each position goes to the queue with the least
// VTime so far.
func Allocate(queues []Queue, n int) []Allocation {
	allocations, left, served := make([]Allocation, len(queues)), make([]int64, len(queues)), make([]int64, len(queues))
	for i := range queues {
		first, count := queues[i].nextPositions()
		allocations[i], left[i], served[i] = Allocation{&queues[i], first, first - 1}, count, queues[i].VTime
	}
	for range n {
		least := -1
		for i := range queues {
			if left[i] > 0 && (least < 0 || served[i] < served[least]) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		allocations[least].Last++
		left[least]--
		served[least] += stride(queues[least].Priority)
	}
	return allocations
}

// Advance moves the queue past an allocation. tasks is how many of its tasks
// still existed, id the last of them.
func (s *Allocation) Advance(tasks int64, id string) {
	l := s.Queue
	l.Scan, l.Redeliver = max(l.Scan, s.Last), false
	l.VTime += tasks * stride(l.Priority)
	switch {
	case tasks == 0: // a head that no longer exists holds up nothing
		l.Head = ""
	case l.Ordering != Free:
		l.Head = id
	}
}
