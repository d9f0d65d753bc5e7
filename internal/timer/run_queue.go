package timer

import "sync"

// runQueue holds the due slots in the order in which they became due, and wakes
// the workers. It has no capacity limit: it is a linked list of the slots.
type runQueue struct {
	mu         sync.Mutex // locked before a shard's mutex
	available  sync.Cond
	head, tail *slot
	idle       int  // number of waiting workers
	waking     bool // true: a signalled worker has not run yet
	closed     bool
}

// push appends a slot that is due. The caller holds mu.
func (r *runQueue) push(s *slot) {
	if r.head == nil {
		r.head = s
	} else {
		r.tail.nextDue = s
	}
	r.tail = s
	r.wakeWorker()
}

// wakeWorker wakes one idle worker, if there is one and no worker is waking
// already. A worker that starts a call wakes the next one if more slots are
// queued. So short functions use about as many workers as there are processors,
// and blocking functions use all workers. The caller holds mu.
func (r *runQueue) wakeWorker() {
	if r.idle > 0 && !r.waking {
		r.waking = true
		r.available.Signal()
	}
}

// waitForCall waits for a due timer and removes it from its slot. It returns false
// after close.
func (r *runQueue) next() (call, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for r.head == nil && !r.closed {
			r.idle++
			r.available.Wait()
			r.idle--
			r.waking = false
		}
		if r.closed {
			return call{}, false
		}
		c, more, ok := r.head.pop()
		if !more {
			r.head = r.head.nextDue
		}
		if ok {
			if r.head != nil {
				r.wakeWorker()
			}
			return c, true
		}
	}
}

// close makes waitForCall return false from now on. It returns the slots that are
// left, linked by nextDue.
func (r *runQueue) close() (remaining *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.available.Broadcast()
	remaining, r.head = r.head, nil
	return remaining
}

// worker calls the functions of due timers, one after the other, and counts the
// calls.
type worker struct {
	wheel  *Wheel
	counts counts
}

func (k *worker) run() {
	for {
		c, ok := k.wheel.queue.next()
		if !ok {
			return
		}
		k.counts.record(k.wheel.now() - c.deadline)
		c.f()
		k.counts.running.Store(false)
	}
}
