package timer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const (
	tick         = 10 * time.Millisecond
	slots        = 16384
	maxEntryWait = tick * slots / 4

	beatEvery = time.Second
	// maxStep is how far the wall clock may step against the monotonic one
	// before timers are taken over by a fresh wheel.
	maxClockStep = 5 * tick
)

// libraryWheel is what we use of the library's wheel. Durations in are rounded
// down to its ticks, those of the wall clock; functions are called in goroutines
// of their own.
type libraryWheel interface {
	AfterFunc(d time.Duration, f func()) *timingwheel.Timer
	Stop()
}

func newLibraryWheel() libraryWheel {
	wheel := timingwheel.NewTimingWheel(tick, slots)
	wheel.Start()
	return wheel
}

// generation is one wheel of the library, with its heartbeat, as long as it
// runs true. A Wheel replaces it by one of a higher number when it does not.
type generation struct {
	wheel       *Wheel
	number      uint32
	startedAt   time.Time // by the monotonic clock
	startedWall time.Time // the same instant by the wall clock

	beats            atomic.Uint64
	lastBeat         atomic.Int64 // since wheel.start, ns
	replaceRequested atomic.Bool

	mu      sync.RWMutex // nobody adds while clockwork stops
	stopped bool
	library libraryWheel
}

func startGeneration(w *Wheel, number uint32) *generation {
	now := time.Now()
	m := &generation{wheel: w, number: number, startedAt: now, startedWall: now.Round(0), library: w.newLibrary()}
	m.lastBeat.Store(int64(w.now()))
	m.after(beatEvery, m.beat)
	return m
}

// alignedStart is the instant, at most a tick and a bit before now, that ticks are
// counted from so that they end when the library's do, or a bit before: a wake-up
// is rounded to the nearest of the library's ticks, and is not early.
func alignedStart(now time.Time) time.Time {
	const margin = time.Millisecond // the library reckons in these
	return now.Add(-time.Duration(now.UnixNano()%int64(tick)) - margin)
}

// wakeAfter wakes s after d, which is at most maxHop.
func (m *generation) wakeAfter(s *slot, d time.Duration) { m.scheduleWake(s, d, m.wheel.now()+d) }

func (m *generation) scheduleWake(s *slot, d, due time.Duration) {
	if entry := m.after(d, func() { m.wake(s, due) }); entry != nil {
		s.keepEntry(entry)
	}
}

// wake runs in a goroutine of the library, so it must be short. Where slots
// wake much too early it does not arm again, for that would be a busy loop: the
// next movement takes s over. Where they do by a little, the wall clock has
// stepped by as much: the next of the library's ticks is soon enough.
func (m *generation) wake(s *slot, due time.Duration) {
	remaining := due - m.wheel.now()
	switch {
	case s.isRetired():
	case remaining > tick:
		m.requestReplacement()
	case remaining > 0:
		m.scheduleWake(s, remaining+tick/2, due)
	default:
		m.wheel.advance(m, s)
	}
}

// beat keeps the library's idea of the time fresh, which moves only when a
// slot is due, and shows that the wheel turns.
func (m *generation) beat() {
	now := m.wheel.now()
	due := time.Duration(m.lastBeat.Swap(int64(now))) + beatEvery
	m.beats.Add(1)
	if due-now > tick {
		m.requestReplacement()
		return
	}
	m.after(beatEvery, m.beat)
}

// after calls f at that of the library's ticks which is nearest to d from now,
// for it rounds down. It returns nil, and f is not called, once stopped.
func (m *generation) after(d time.Duration, f func()) *timingwheel.Timer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.stopped {
		return nil
	}
	return m.library.AfterFunc(d+tick/2, f)
}

// hasClockStepped reports that the wall clock, by which the library goes, has been
// set since the movement was born.
func (m *generation) hasClockStepped() bool {
	now := time.Now()
	return (now.Round(0).Sub(m.startedWall) - now.Sub(m.startedAt)).Abs() > maxClockStep
}

// requestReplacement asks the watch for a replacement.
func (m *generation) requestReplacement() {
	m.replaceRequested.Store(true)
	select {
	case m.wheel.replace <- struct{}{}:
	default: // an alarm is waiting already
	}
}

// stop ends the library's goroutines. It stops waiting for them when they
// would have had time to end many times over: they are deadlocked.
func (m *generation) stop() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.mu.Lock()
		m.stopped = true
		m.mu.Unlock()
		m.library.Stop()
	}()
	timeout := time.NewTimer(stuckAfter)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
}
