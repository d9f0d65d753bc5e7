package timer

import (
	"sync"
	"time"
)

// runQueue holds the due slots in the order in which they became due, and wakes
// the workers. It has no capacity limit: it is a linked list of the slots. Wheel.mu
// guards it.
type runQueue struct {
	workAvailable sync.Cond
	head, tail    *slot
	idleWorkers   int  // number of waiting workers
	isWaking      bool // true: a signalled worker has not run yet
}

// push appends a slot that is due.
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
// and blocking functions use all workers.
func (r *runQueue) wakeWorker() {
	if r.idleWorkers > 0 && !r.isWaking {
		r.isWaking = true
		r.workAvailable.Signal()
	}
}

// work calls the functions of due timers, one after the other, until Close.
func (w *Wheel) work() {
	for fn, late := w.waitForCall(); fn != nil; fn, late = w.waitForCall() {
		w.onCall(late)
		fn()
	}
}

// waitForCall waits for a due timer, removes it from its slot and counts its call. It
// also returns the delay of the call. The function is nil after Close.
func (w *Wheel) waitForCall() (fn func(), late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed {
		due := w.queue.head
		switch {
		case due == nil:
			w.queue.idleWorkers++
			w.queue.workAvailable.Wait()
			w.queue.idleWorkers--
			w.queue.isWaking = false
		case due.head == nil:
			w.queue.head = due.nextDue
		default:
			next := due.head
			fn, late = next.fn, w.now()-next.deadline
			w.stats.Fired++
			w.stats.MaxLate = max(w.stats.MaxLate, late)
			due.unlink(next)
			if due.head == nil {
				w.queue.head = due.nextDue
			}
			if w.queue.head != nil {
				w.queue.wakeWorker()
			}
			return fn, late
		}
	}
	return nil, 0
}
