package timer

import "sync"

// rota is the slots that are due, in order, and who works them off. A tick's
// wake-up costs the same however many timers it has: it only queues the slot.
// Nothing here is ever full, for the timers wait where they were.
type rota struct {
	mu         sync.Mutex // taken before a stripe's
	work       sync.Cond
	head, tail *slot
	idle       int  // workers that wait
	roused     bool // one of them is on its way
	closed     bool
}

// push queues a slot that its stripe has made due. The caller holds mu.
func (r *rota) push(s *slot) {
	if r.head == nil {
		r.head = s
	} else {
		r.tail.following = s
	}
	r.tail = s
	r.rouse()
}

// rouse has one more worker come, if one is idle. One at a time: who comes
// rouses the next where that is worth it, so that short functions are called by
// as many workers as there are processors, and ones that block by all. The
// caller holds mu.
func (r *rota) rouse() {
	if r.idle > 0 && !r.roused {
		r.roused = true
		r.work.Signal()
	}
}

// next waits for a timer to be called; false if there will be none any more.
func (r *rota) next() (call, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for r.head == nil && !r.closed {
			r.idle++
			r.work.Wait()
			r.idle--
			r.roused = false
		}
		if r.closed {
			return call{}, false
		}
		c, more, ok := r.head.pop()
		if !more {
			r.head = r.head.following
		}
		if ok {
			if r.head != nil {
				r.rouse()
			}
			return c, true
		}
	}
}

// close sends the workers home and returns what they have left.
func (r *rota) close() (left *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.work.Broadcast()
	left, r.head = r.head, nil
	return left
}

// worker calls functions, one after the other, and counts.
type worker struct {
	wheel  *Wheel
	counts counts
}

func (k *worker) run() {
	for {
		c, ok := k.wheel.rota.next()
		if !ok {
			return
		}
		k.counts.note(k.wheel.now() - c.deadline)
		c.f()
		k.counts.calling.Store(false)
	}
}
