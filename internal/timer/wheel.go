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
	shards      [shardCount]shard
	runQueue    runQueue
	workers     int // number of workers
	workerGroup sync.WaitGroup
}

// Config configures a Wheel. The zero value means the defaults.
type Config struct {
	Workers int // maximum number of functions that run at the same time; 0 or less: defaultWorkers
}

const defaultWorkers = 32

// New starts a Wheel and its workers.
func New(config Config) *Wheel {
	workers := config.Workers
	if workers <= 0 {
		workers = defaultWorkers
	}
	wheel := &Wheel{startTime: time.Now(), workers: workers}
	for i := range wheel.shards {
		wheel.shards[i].slots = make(map[int64]*slot)
	}
	wheel.runQueue.workAvailable.L = &wheel.runQueue.mu
	for range workers {
		wheel.workerGroup.Go(wheel.work)
	}
	return wheel
}

// work calls the functions of due timers, one after the other, until Close.
func (w *Wheel) work() {
	for fn := w.runQueue.waitForCall(w.now); fn != nil; fn = w.runQueue.waitForCall(w.now) {
		fn()
	}
}

// Close stops all pending timers and waits for running functions and for all
// goroutines that New started. It may be called several times. A function
// of a timer must not call Close, because it would wait forever.
func (w *Wheel) Close() {
	for i := range w.shards {
		w.shards[i].close()
	}
	for slot := w.runQueue.close(); slot != nil; slot = slot.nextDue {
		slot.stopAll()
	}
	w.workerGroup.Wait()
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
	for {
		timer.Stop()
		if w.add(timer, pendingCall{fn, deadline}, wait <= 0) {
			return
		}
	}
}

// add puts a timer, which must be in no slot, into the slot of its deadline. It
// returns false if another goroutine has set the timer first. On a closed wheel it
// does nothing and returns true.
func (w *Wheel) add(timer *Timer, call pendingCall, isDue bool) bool {
	tickNumber := tickNumberAt(call.deadline)
	shard := w.shardFor(tickNumber)
	if isDue {
		return w.addDue(shard, timer, call)
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.closed {
		return true
	}
	found := shard.slots[tickNumber]
	if found == nil {
		found = &slot{shard: shard, tickNumber: tickNumber}
		shard.slots[tickNumber] = found
		found.wakeUp = time.AfterFunc(found.dueTime()-w.now(), func() { w.queueDue(found) })
	}
	return found.link(timer, call)
}

// addDue is add for a timer that is due immediately. The timer gets a slot of its
// own and waits only for a worker.
func (w *Wheel) addDue(shard *shard, timer *Timer, call pendingCall) bool {
	w.runQueue.mu.Lock()
	defer w.runQueue.mu.Unlock()
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.closed {
		return true
	}
	dueSlot := &slot{shard: shard, isDue: true}
	if !dueSlot.link(timer, call) {
		return false
	}
	shard.waiting++
	w.runQueue.push(dueSlot)
	return true
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

// tickNumberAt returns the number of the first tick that ends at a deadline or
// later.
func tickNumberAt(deadline time.Duration) int64 { return int64((deadline + tick - 1) / tick) }

func (w *Wheel) shardFor(tickNumber int64) *shard { return &w.shards[tickNumber%shardCount] }

// queueDue queues a slot that is due.
func (w *Wheel) queueDue(slot *slot) {
	w.runQueue.mu.Lock()
	defer w.runQueue.mu.Unlock()
	if slot.makeDue() {
		w.runQueue.push(slot)
	}
}

// Stats returns the counters. It is cheap enough to be called for every scrape of
// metrics.
func (w *Wheel) Stats() Stats {
	var stats Stats
	for i := range w.shards {
		w.shards[i].addTo(&stats)
	}
	w.runQueue.mu.Lock()
	defer w.runQueue.mu.Unlock()
	stats.Running = w.workers - w.runQueue.idleWorkers
	stats.Fired, stats.Late = w.runQueue.calls.count, w.runQueue.calls.late
	return stats
}
