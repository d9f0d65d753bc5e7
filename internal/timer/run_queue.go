package timer

import "sync"

// runQueue holds the due slots in the order in which they became due, and wakes
// the workers. It has no capacity limit: it is a linked list of the slots.
type runQueue struct {
	mu            sync.Mutex // locked before a shard's mutex
	workAvailable sync.Cond
	head, tail    *slot
	idleWorkers   int  // number of waiting workers
	isWaking      bool // true: a signalled worker has not run yet
	closed        bool
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

// waitForCall waits for a due timer and removes it from its slot. It returns false
// after close.
func (r *runQueue) waitForCall() (pendingCall, bool) {
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
			return pendingCall{}, false
		}
		call, hasMore, ok := r.head.pop()
		if !hasMore {
			r.head = r.head.nextDue
		}
		if ok {
			if r.head != nil {
				r.wakeWorker()
			}
			return call, true
		}
	}
}

// close makes waitForCall return false from now on. It returns the slots that are
// left, linked by nextDue.
func (r *runQueue) close() (remaining *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.workAvailable.Broadcast()
	remaining, r.head = r.head, nil
	return remaining
}

// worker calls the functions of due timers, one after the other, and counts the
// calls.
type worker struct {
	wheel  *Wheel
	counts callCounts
}

func (w *worker) run() {
	for {
		call, ok := w.wheel.runQueue.waitForCall()
		if !ok {
			return
		}
		w.counts.recordStart(w.wheel.now() - call.deadline)
		call.fn()
		w.counts.running.Store(false)
	}
}
