package timer

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a Wheel. The zero value means the defaults.
type Config struct {
	Workers int // maximum number of functions that run at the same time; 0 or less: 32
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 32
	}
	return c
}

// Wheel holds pending timers and calls their functions when they are due, never
// early. Close ends it.
type Wheel struct {
	start      time.Time // deadlines are durations since this time, by the monotonic clock
	newLibrary func() libraryWheel
	shards     [shardCount]shard
	queue      runQueue
	workers    []worker
	rebuilt    atomic.Uint64 // number of replaced generations

	mu         sync.RWMutex // guards closed and generation; held briefly
	closed     bool
	generation *generation

	replace     chan struct{}  // at most one signal: the current generation requests a replacement
	quit        chan struct{}  // closed when Close begins
	done        chan struct{}  // closed when Close ends
	watchDone   sync.WaitGroup // watchGenerations, and the stops of replaced generations
	workersDone sync.WaitGroup
}

// New starts a Wheel: its workers, its watch goroutine, and the library's two
// goroutines.
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
func (w *Wheel) After(d time.Duration, f func()) *Timer {
	t := new(Timer)
	w.Set(t, d, f)
	return t
}

// Set makes timer call fn after wait, like After, and cancels the timer's earlier
// call. The timer may be a field of another struct. If several goroutines set the
// timer at the same time, the last one takes effect, and the calls of the others
// do not happen. Set panics if fn is nil.
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

// add puts a timer, which must be in no slot, into the slot of its deadline. It
// returns false if another goroutine has set the timer first. On a closed wheel it
// does nothing and returns true.
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

// addDue is add for a timer that is due immediately. The timer gets a slot of its
// own and waits only for a worker.
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

// Close stops all pending timers and waits for running functions and for all
// goroutines that New started. A second Close waits for the first. A function
// of a timer must not call Close, because it would wait forever.
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
	w.current().stop() // watchGenerations has returned, so the generation cannot change
	w.workersDone.Wait()
	close(w.done)
}

// now returns the time since startTime.
func (w *Wheel) now() time.Duration { return time.Since(w.start) }

// deadlineAfter returns the deadline after wait, limited so that rounding up to a
// tick cannot overflow.
func (w *Wheel) deadlineAfter(d time.Duration) time.Duration {
	now := w.now()
	if d > math.MaxInt64-tick-now {
		return math.MaxInt64 - tick // leaves room to round up
	}
	return now + max(d, 0)
}

// tickNumberOf returns the number of the first tick that ends at a deadline or
// later.
func tickOf(deadline time.Duration) int64 { return int64((deadline + tick - 1) / tick) }

func (w *Wheel) shardOf(at int64) *shard { return &w.shards[at%shardCount] }

// assignSlot makes a slot run on a generation. It does so once, although Set and
// replaceGeneration may both call it.
func (w *Wheel) assign(m *generation, s *slot) {
	if s.assign(m.number) {
		w.advance(m, s)
	}
}

// scheduleOrQueue adds the next library entry of a slot, or queues the slot if it
// is due.
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
