package timer

import (
	"sync"
	"time"
)

// runQueue holds the due slots in the order in which they became due, and wakes
// the workers. It has no capacity limit: it is a linked list of the slots.
type runQueue struct {
	mu            sync.Mutex // locked before a shard's mutex
	workAvailable sync.Cond
	head, tail    *slot
	idleWorkers   int  // number of waiting workers
	isWaking      bool // true: a signalled worker has not run yet
	closed        bool
	calls         callCounts
}

// push appends a slot that is due. The caller holds mu.
func (r *runQueue) push(slot *slot) {
	if r.head == nil {
		r.head = slot
	} else {
		r.tail.nextDue = slot
	}
	r.tail = slot
	r.wakeWorker()
}

// wakeWorker wakes one idle worker, if there is one and no worker is waking
// already. A worker that starts a call wakes the next one if more slots are
// queued. So short functions use about as many workers as there are processors,
// and blocking functions use all workers. The caller holds mu.
func (r *runQueue) wakeWorker() {
	if r.idleWorkers > 0 && !r.isWaking {
		r.isWaking = true
		r.workAvailable.Signal()
	}
}

// waitForCall waits for a due timer, removes it from its slot and counts its call.
// It returns nil after close. now is the time since wheel.startTime.
func (r *runQueue) waitForCall(now func() time.Duration) (fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for r.head == nil && !r.closed {
			r.idleWorkers++
			r.workAvailable.Wait()
			r.idleWorkers--
			r.isWaking = false
		}
		if r.closed {
			return nil
		}
		call, hasMore, ok := r.head.pop()
		if !hasMore {
			r.head = r.head.nextDue
		}
		if ok {
			if r.head != nil {
				r.wakeWorker()
			}
			r.calls.record(now() - call.deadline)
			return call.fn
		}
	}
}

// close makes waitForCall return nil from now on. It returns the slots that are
// left, linked by nextDue.
func (r *runQueue) close() (remaining *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.workAvailable.Broadcast()
	remaining, r.head = r.head, nil
	return remaining
}
