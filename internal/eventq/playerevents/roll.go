package playerevents

import (
	"slices"
	"sync"
)

const (
	// maxRoll bounds the changes that wait while others are still let in. An end
	// is always: it follows on a beginning that was.
	maxRoll = 100_000
	// rollBatch is how many changes are written at once.
	rollBatch = 400
)

// change is a visit that begins, or is over.
type change struct {
	Visit
	over bool
}

// roll is the bounded queue of changes on their way to Attendance.
type roll struct {
	news chan struct{} // holds one while something waits that nobody has been woken for

	mu      sync.Mutex
	changes []change
}

func newRoll() roll { return roll{news: make(chan struct{}, 1)} }

// add says whether there was room.
func (r *roll) add(c change) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.changes) >= maxRoll && !c.over {
		return false
	}
	r.changes = append(r.changes, c)
	select {
	case r.news <- struct{}{}:
	default:
	}
	return true
}

// head is what waits longest, up to a batch. It stays until it is dropped.
func (r *roll) head() []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes[:min(len(r.changes), rollBatch)])
}

func (r *roll) drop(count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.changes[:count]) // not kept by what follows
	r.changes = r.changes[count:]
}

func (r *roll) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.changes)
}

// sides are the visits of changes that have come, and those that are over; who
// came and went is in both, to be written in that order.
func sides(changes []change) (come, over []Visit) {
	for _, c := range changes {
		if c.over {
			over = append(over, c.Visit)
		} else {
			come = append(come, c.Visit)
		}
	}
	return come, over
}
