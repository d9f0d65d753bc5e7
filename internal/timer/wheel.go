package timer

import (
	"math"
	"sync"
	"time"
)

// Wheel holds pending timers and calls their functions when they are due, never
// early. Close ends it.
type Wheel struct {
	startTime   time.Time // deadlines are durations since this time, by the monotonic clock
	workers     int       // number of workers
	onCall      func(late time.Duration)
	workerGroup sync.WaitGroup

	mu     sync.Mutex
	slots  map[int64]*slot // slots that are not due yet, by tick number
	queue  runQueue
	closed bool  // true: no timer is added and no function is called any more
	stats  Stats // without Slots and Running
}

// Config configures a Wheel. The zero value means the defaults.
type Config struct {
	Workers int                      // maximum number of functions that run at the same time; 0 or less: defaultWorkers
	OnCall  func(late time.Duration) // is told the delay of each call before it; nil: nobody is. It must not block
}

const defaultWorkers = 32

// New starts a Wheel and its workers.
func New(config Config) *Wheel {
	workers := config.Workers
	if workers <= 0 {
		workers = defaultWorkers
	}
	wheel := &Wheel{startTime: time.Now(), workers: workers, onCall: config.OnCall, slots: map[int64]*slot{}}
	if wheel.onCall == nil {
		wheel.onCall = func(time.Duration) {}
	}
	wheel.queue.workAvailable.L = &wheel.mu
	for range workers {
		wheel.workerGroup.Go(wheel.work)
	}
	return wheel
}

// Close stops all pending timers and waits for running functions and for all
// goroutines that New started. It may be called several times. A function
// of a timer must not call Close, because it would wait forever.
func (w *Wheel) Close() {
	w.stopAll()
	w.workerGroup.Wait()
}

// stopAll stops all pending timers, and the workers.
func (w *Wheel) stopAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, slot := range w.slots {
		slot.wakeUp.Stop()
		slot.stopAll()
	}
	clear(w.slots)
	for ; w.queue.head != nil; w.queue.head = w.queue.head.nextDue {
		w.queue.head.stopAll()
	}
	w.queue.workAvailable.Broadcast()
}

// After calls fn on a worker when wait has passed. The call is never early,
// usually at most two ticks (20 ms) late, and happens exactly once unless Stop or
// Close prevents it. If wait is 0 or less, fn is called as soon as a worker is
// idle. Timers of the same tick are called in any order.
//
// A function that blocks occupies a worker. If all workers are busy, due timers
// wait in the order of their ticks (Stats.Waiting counts them). Adding and
// stopping timers does not wait for workers.
//
// On a closed wheel, After returns a stopped timer and fn is never called. After
// panics if fn is nil.
func (w *Wheel) After(wait time.Duration, fn func()) *Timer {
	timer := new(Timer)
	w.Set(timer, wait, fn)
	return timer
}

// Set makes timer call fn after wait, like After, and cancels the timer's earlier
// call. The timer may be a field of another struct. If several goroutines set the
// timer at the same time, the last one takes effect, and the calls of the others
// do not happen. Set panics if fn is nil.
func (w *Wheel) Set(timer *Timer, wait time.Duration, fn func()) {
	if fn == nil {
		panic("timer: a timer needs a function to call")
	}
	deadline := w.deadlineAfter(wait)
	w.mu.Lock()
	defer w.mu.Unlock()
	timer.stop()
	if w.closed {
		return
	}
	timer.fn, timer.deadline = fn, deadline
	if wait > 0 {
		w.slotFor(deadline).link(timer)
		return
	}
	due := &slot{wheel: w} // of its own
	due.link(timer)
	w.pushDue(due)
}

// slotFor returns the slot of a deadline. The caller holds mu.
func (w *Wheel) slotFor(deadline time.Duration) *slot {
	tickNumber := int64((deadline + tick - 1) / tick) // the first tick that ends at the deadline or later
	found := w.slots[tickNumber]
	if found == nil {
		found = &slot{wheel: w, tickNumber: tickNumber}
		w.slots[tickNumber] = found
		found.wakeUp = time.AfterFunc(found.dueTime()-w.now(), func() { w.makeDue(found) })
	}
	return found
}

// makeDue queues a slot that is due, unless it was removed before.
func (w *Wheel) makeDue(slot *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slots[slot.tickNumber] == slot {
		delete(w.slots, slot.tickNumber)
		w.pushDue(slot)
	}
}

// pushDue appends a slot to the queue. The caller holds mu.
func (w *Wheel) pushDue(slot *slot) {
	slot.isDue = true
	w.stats.Waiting += slot.size
	w.queue.push(slot)
}

// now returns the time since startTime.
func (w *Wheel) now() time.Duration { return time.Since(w.startTime) }

// deadlineAfter returns the deadline after wait, limited so that rounding up to a
// tick cannot overflow.
func (w *Wheel) deadlineAfter(wait time.Duration) time.Duration {
	now := w.now()
	if wait > math.MaxInt64-tick-now {
		return math.MaxInt64 - tick // leaves room to round up
	}
	return now + max(wait, 0)
}

// Stats returns the counters at one moment. It is cheap enough to be called for every
// scrape of metrics.
func (w *Wheel) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	stats := w.stats
	stats.Slots, stats.Running = len(w.slots), w.workers-w.queue.idleWorkers
	return stats
}
