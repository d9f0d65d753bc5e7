package taskqueue

// LineID names a line.
type QueueID struct {
	Topic    string `json:"topic"`
	Priority int64  `json:"priority"`
}

// Line is the tasks of one topic and priority, in the order of their commits,
// and how far it has come. Both cursors only move forward.
type Queue struct {
	QueueID

	Ordering  Ordering `json:"ordering,omitempty"`
	Pos       int64    `json:"pos"`            // the last position given
	Scan      int64    `json:"scan"`           // up to here tasks have been handed out
	Done      int64    `json:"done"`           // up to here all have ended, or left for later
	Head      string   `json:"head,omitempty"` // the task that an ordered line waits for
	Redeliver bool     `json:"-"`              // the head is to be handed out again
	VTime     int64    `json:"-"`              // what the line has been served, in strides
}

// LineFilter chooses lines: those that agree with every field that is not zero.
type QueueFilter struct {
	Kind, Topic string
	Busy        bool // something waits in them, or was handed out and has not ended
}

// Backlog is what waits in the lines of a kind.
type Backlog struct {
	Kind  string
	Ready int64 // lines with something to hand out
	Tasks int64 // places not handed out
}

// stride is what a task of a priority costs its line: half as much as one of the
// priority below.
func stride(priority int64) int64 { return 1 << (MaxPriority - priority) }

// next is the position that the line hands out next, of as many as there are.
func (l *Queue) nextPositions() (pos, count int64) {
	switch {
	case l.Redeliver: // the cursor stands at the head
		return l.Scan, 1
	case l.Head != "":
		return 0, 0
	case l.Ordering != Free:
		return l.Scan + 1, min(1, l.Pos-l.Scan)
	}
	return l.Scan + 1, l.Pos - l.Scan
}

// Share is a part of a line: positions First to Last, none if Last is before.
type Allocation struct {
	Queue       *Queue
	First, Last int64
}

// Shares gives up to n positions to the lines by stride scheduling (Waldspurger
// and Weihl, 1995): each to the line that has had the least so far.
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

// Took moves the line on after it gave the positions of a share, of which some
// tasks, the one with the id among them, were still there.
func (s *Allocation) Advance(tasks int64, id string) {
	l := s.Queue
	l.Scan, l.Redeliver = max(l.Scan, s.Last), false
	l.VTime += tasks * stride(l.Priority)
	switch {
	case tasks == 0: // a head that is gone holds nothing up
		l.Head = ""
	case l.Ordering != Free:
		l.Head = id
	}
}
