package playerevents

import (
	"slices"
	"sync"
)

const (
	// maxRoll bounds the changes that wait while others are still let in. An end
	// is always: it follows on a beginning that was.
	maxPending = 100_000
	// rollBatch is how many changes are written at once.
	syncBatchSize = 400
)

// change is a visit that begins, or is over.
type change struct {
	SessionRecord
	isEnd bool
}

// roll is the bounded queue of changes on their way to Attendance.
type syncQueue struct {
	wake chan struct{} // holds one while something waits that nobody has been woken for

	mu      sync.Mutex
	changes []change
}

func newSyncQueue() syncQueue { return syncQueue{wake: make(chan struct{}, 1)} }

// add says whether there was room.
func (r *syncQueue) add(c change) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.changes) >= maxPending && !c.isEnd {
		return false
	}
	r.changes = append(r.changes, c)
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return true
}

// head is what waits longest, up to a batch. It stays until it is dropped.
func (r *syncQueue) peek() []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes[:min(len(r.changes), syncBatchSize)])
}

func (r *syncQueue) drop(count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.changes[:count]) // not kept by what follows
	r.changes = r.changes[count:]
}

func (r *syncQueue) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.changes)
}

// sides are the visits of changes that have come, and those that are over; who
// came and went is in both, to be written in that order.
func splitChanges(changes []change) (started, ended []SessionRecord) {
	for _, c := range changes {
		if c.isEnd {
			ended = append(ended, c.SessionRecord)
		} else {
			started = append(started, c.SessionRecord)
		}
	}
	return started, ended
}
