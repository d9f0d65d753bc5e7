package playerevents

import (
	"slices"
	"sync"

	"laststand/internal/timer"
)

const (
	// maxPending bounds the waiting changes. Ends are accepted beyond it, because
	// the start of each was accepted before.
	maxPending = 100_000
	// syncBatchSize is how many changes are written together.
	syncBatchSize = 400
)

// change is the start or the end of a session.
type change struct {
	SessionRecord
	isEnd bool
}

// syncQueue is the bounded queue of changes on their way to the SessionStore.
type syncQueue struct {
	wake chan struct{} // holds a signal while changes wait that the receiver does not know

	mu      sync.Mutex
	changes []change
}

func newSyncQueue() syncQueue { return syncQueue{wake: make(chan struct{}, 1)} }

// add reports whether there was room.
func (r *syncQueue) add(c change) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.changes) >= maxPending && !c.isEnd {
		return false
	}
	r.changes = append(r.changes, c)
	timer.Wake(r.wake)
	return true
}

// peek returns the oldest changes, at most a batch. They stay queued until they
// are dropped.
func (r *syncQueue) peek() []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes[:min(len(r.changes), syncBatchSize)])
}

func (r *syncQueue) drop(count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.changes[:count]) // lets the garbage collector free them
	r.changes = r.changes[count:]
}

func (r *syncQueue) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.changes)
}

// splitChanges returns the sessions that started and those that ended. A session
// that did both is in both lists. Write the starts first.
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
