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
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 32
	}
	return c
}

// Wheel holds pending timers and calls their functions once they are due,
// never early. Close ends it.
type Wheel struct {
	start      time.Time // deadlines count from here, by the monotonic clock
	newLibrary func() libraryWheel
	shards     [shardCount]shard
	queue      runQueue
	workers    []worker
	rebuilt    atomic.Uint64

	mu         sync.RWMutex // guards closed and movement; held for moments only
	closed     bool
	generation *generation

	replace     chan struct{}
	quit        chan struct{}  // closed when Close begins
	done        chan struct{}  // closed when Close ends
	watchDone   sync.WaitGroup // the watch, and the movements that it retires
	workersDone sync.WaitGroup
}

// New starts a Wheel: its workers, its watch, and the library's two goroutines.
func New(config Config) *Wheel {
	return newWheel(config, newLibraryWheel)
}

func newWheel(config Config, newLibrary func() libraryWheel) *Wheel {
	config = config.withDefaults()
	w := &Wheel{
		start:      alignedStart(time.Now()),
		newLibrary: newLibrary,
		workers:    make([]worker, config.Workers),
		replace:    make(chan struct{}, 1),
		quit:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	for i := range w.shards {
		w.shards[i].wheel, w.shards[i].slots = w, make(map[int64]*slot)
	}
	w.queue.available.L = &w.queue.mu
	w.generation = startGeneration(w, 1)
	w.watchDone.Go(w.watch)
	for i := range w.workers {
		w.workers[i].wheel = w
		w.workersDone.Go(w.workers[i].run)
	}
	return w
}

// After calls f on a worker once d has passed, never before, as a rule within
// two ticks (20 ms), and exactly once unless Stop prevents it. With d not
// above 0 that is at once, still on a worker. Timers due within the same tick
// are called in no given order. A function that blocks holds up a worker: when
// all are busy, due timers wait for one, in the order of their ticks
// (Stats.Waiting counts them), and nothing else does.
//
// On a closed wheel the timer is stopped from the beginning and f is never
// called. After panics if f is nil.
func (w *Wheel) After(d time.Duration, f func()) *Timer {
	t := new(Timer)
	w.Set(t, d, f)
	return t
}

// Set has t, which may be part of whatever it belongs to, call f after d, as
// After does, instead of what it was to call before. While others set it too
// one of them is the last, and the calls of the rest do not come.
func (w *Wheel) Set(t *Timer, d time.Duration, f func()) {
	if f == nil {
		panic("timer: a timer needs a function to call")
	}
	deadline := w.deadlineAfter(d)
	for {
		t.Stop()
		if w.add(t, call{f, deadline}, d <= 0) {
			return
		}
	}
}

// add lets t, which waits for nothing, wait. It reports false if somebody else
// was faster to set the same timer.
func (w *Wheel) add(t *Timer, c call, due bool) bool {
	at := tickOf(c.deadline)
	st := w.shardOf(at)
	if due {
		return w.addDue(st, t, c)
	}
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return true
	}
	s, added := st.findOrAdd(at)
	linked := s.link(t, c)
	st.mu.Unlock()
	if added {
		w.assign(w.current(), s)
	}
	return linked
}

// addDue is put for a timer that waits for a worker only, in a slot of its own.
func (w *Wheel) addDue(st *shard, t *Timer, c call) bool {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return true
	}
	s := &slot{shard: st, due: true}
	if !s.link(t, c) {
		return false
	}
	st.waiting++
	w.queue.push(s)
	return true
}

// Close stops all pending timers, waits for functions already called and for
// everything that New started, and frees it all; a second Close waits for the
// first. Calling it from the function of a timer would wait for ever.
func (w *Wheel) Close() {
	w.mu.Lock()
	closing := w.closed
	w.closed = true
	w.mu.Unlock()
	if closing {
		<-w.done
		return
	}
	close(w.quit)
	w.watchDone.Wait()
	for i := range w.shards {
		w.shards[i].close()
	}
	for s := w.queue.close(); s != nil; s = s.nextDue {
		s.stopAll()
	}
	w.current().stop() // the watch has ended: nobody replaces it any more
	w.workersDone.Wait()
	close(w.done)
}

func (w *Wheel) now() time.Duration { return time.Since(w.start) }

func (w *Wheel) deadlineAfter(d time.Duration) time.Duration {
	now := w.now()
	if d > math.MaxInt64-tick-now {
		return math.MaxInt64 - tick // room to round it up
	}
	return now + max(d, 0)
}

// tickOf is the first tick at whose end a deadline has passed.
func tickOf(deadline time.Duration) int64 { return int64((deadline + tick - 1) / tick) }

func (w *Wheel) shardOf(at int64) *shard { return &w.shards[at%shardCount] }

// assign lets s run on m, once: Set and a rebuild may both ask for it.
func (w *Wheel) assign(m *generation, s *slot) {
	if s.assign(m.number) {
		w.advance(m, s)
	}
}

// advance takes s one hop further on m, or to the workers if it is due.
func (w *Wheel) advance(m *generation, s *slot) {
	if remaining := s.end() - w.now(); remaining > 0 {
		m.wakeAfter(s, min(remaining, maxEntryWait))
		return
	}
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	if s.makeDue() {
		w.queue.push(s)
	}
}
