package timer

import "sync"

// runQueue is the slots that are due, in order, and who works them off. A tick's
// wake-up costs the same however many timers it has: it only queues the slot.
// Nothing here is ever full, for the timers wait where they were.
type runQueue struct {
	mu         sync.Mutex // taken before a stripe's
	available  sync.Cond
	head, tail *slot
	idle       int  // workers that wait
	waking     bool // one of them is on its way
	closed     bool
}

// push queues a slot that its stripe has made due. The caller holds mu.
func (r *runQueue) push(s *slot) {
	if r.head == nil {
		r.head = s
	} else {
		r.tail.nextDue = s
	}
	r.tail = s
	r.wakeWorker()
}

// wakeWorker has one more worker come, if one is idle. One at a time: who comes
// rouses the next where that is worth it, so that short functions are called by
// as many workers as there are processors, and ones that block by all. The
// caller holds mu.
func (r *runQueue) wakeWorker() {
	if r.idle > 0 && !r.waking {
		r.waking = true
		r.available.Signal()
	}
}

// next waits for a timer to be called; false if there will be none any more.
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

// close sends the workers home and returns what they have left.
func (r *runQueue) close() (remaining *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.available.Broadcast()
	remaining, r.head = r.head, nil
	return remaining
}

// worker calls functions, one after the other, and counts.
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
