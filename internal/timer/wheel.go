package timer

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Config sizes a Wheel. The zero value is good for a server.
type Config struct {
	Workers int // functions running at once; 32 if not above 0
	Queue   int // due timers waiting for a worker; 8192 if not above 0
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 32
	}
	if c.Queue <= 0 {
		c.Queue = 8192
	}
	return c
}

// Wheel holds pending timers and calls their functions once they are due,
// never early. Close ends it.
type Wheel struct {
	start    time.Time // deadlines count from here, by the monotonic clock
	build    func() clockwork
	pending  registry
	counters counters

	mu       sync.RWMutex // guards closed and movement; held for moments only
	closed   bool
	movement *movement

	queue   chan *Timer // due; closed by Close, sent to under mu
	alarm   chan struct{}
	quit    chan struct{}  // closed when Close begins
	done    chan struct{}  // closed when Close ends
	watcher sync.WaitGroup // the watch, and the movements that it retires
	workers sync.WaitGroup
}

// New starts a Wheel: its workers, its watch, and the library's two goroutines.
func New(config Config) *Wheel {
	return newWheel(config, newClockwork)
}

func newWheel(config Config, build func() clockwork) *Wheel {
	config = config.withDefaults()
	w := &Wheel{
		start: time.Now(),
		build: build,
		queue: make(chan *Timer, config.Queue),
		alarm: make(chan struct{}, 1),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	w.movement = startMovement(w, 1)
	w.watcher.Go(w.watch)
	for range config.Workers {
		w.workers.Go(w.work)
	}
	return w
}

// After calls f on a worker once d has passed, never before, as a rule within
// two ticks (20 ms), and exactly once unless Stop prevents it. With d not
// above 0 that is at once, still on a worker. Timers due within the same tick
// are called in no given order. A function that blocks holds up a worker: when
// all are busy and the queue is full, due timers try again a tick later, then
// less often the later they are (Stats.Deferred counts the tries).
//
// On a closed wheel the timer is stopped from the beginning and f is never
// called. After panics if f is nil.
func (w *Wheel) After(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("timer: After needs a function to call")
	}
	t := &Timer{wheel: w, f: f, deadline: w.in(d)}
	m := w.register(t)
	if m == nil {
		t.f = nil
		t.state.Store(stateStopped)
		return t
	}
	w.adopt(m, t)
	return t
}

// Close stops all pending timers, waits for functions already called and for
// everything that New started, and frees it all; a second Close waits for the
// first. Calling it from the function of a timer would wait for ever.
func (w *Wheel) Close() {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		<-w.done
		return
	}
	close(w.quit)
	w.watcher.Wait()
	for _, t := range w.pending.all() {
		t.Stop()
	}
	w.present().stop() // the watch has ended: nobody replaces it any more
	close(w.queue)
	w.workers.Wait()
	close(w.done)
}

func (w *Wheel) now() time.Duration { return time.Since(w.start) }

func (w *Wheel) in(d time.Duration) time.Duration {
	now := w.now()
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + max(d, 0)
}

// register puts a new timer among the pending ones. It returns the movement
// to arm it on, nil if the wheel is closed.
func (w *Wheel) register(t *Timer) *movement {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return nil
	}
	w.pending.add(t)
	return w.movement
}

// adopt lets t run on m, once: After and a rebuild may both ask for it.
func (w *Wheel) adopt(m *movement, t *Timer) {
	if t.adopted.Swap(m.number) != m.number {
		w.step(m, t)
	}
}

// step takes t one hop further on m, or to the queue if it is due.
func (w *Wheel) step(m *movement, t *Timer) {
	left := t.deadline - w.now()
	if left > 0 {
		m.arm(t, min(left, maxHop))
		return
	}
	if w.offer(t) {
		return
	}
	w.counters.deferred.Add(1)
	m.arm(t, retryAfter(-left))
}

// offer queues a due timer and reports whether that is the end of its way:
// false if the queue is full, true also when closed, for Close stops it.
func (w *Wheel) offer(t *Timer) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return true
	}
	select {
	case w.queue <- t:
		return true
	default:
		return false
	}
}

// retryAfter spaces the tries of a timer that finds the queue full by how
// late it is already, so that a great many of them cost little.
func retryAfter(late time.Duration) time.Duration {
	return min(max(late/4, tick), 25*tick)
}

func (w *Wheel) work() {
	for t := range w.queue {
		t.fire()
	}
}

// counters are what Stats cannot read elsewhere.
type counters struct {
	fired, stopped, deferred, rebuilt atomic.Uint64
	lastLate, maxLate                 atomic.Int64 // ns
}
