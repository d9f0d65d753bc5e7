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

	heartbeatEvery = time.Second
	// maxClockStep is how far the wall clock may step against the monotonic
	// clock before a new generation takes over.
	maxClockStep = 5 * tick
)

// libraryWheel is the part of the library's wheel that this package uses. The
// library rounds durations down to its ticks, which follow the wall clock. It
// calls functions in their own goroutines.
type libraryWheel interface {
	AfterFunc(d time.Duration, f func()) *timingwheel.Timer
	Stop()
}

func newLibraryWheel() libraryWheel {
	wheel := timingwheel.NewTimingWheel(tick, slots)
	wheel.Start()
	return wheel
}

// generation is one wheel of the library with its heartbeat. The Wheel replaces
// a faulty generation by one with a higher number.
type generation struct {
	wheel       *Wheel
	number      uint32
	startedAt   time.Time // by the monotonic clock
	startedWall time.Time // the same time by the wall clock

	beats            atomic.Uint64
	lastHeartbeat    atomic.Int64 // since wheel.start, ns
	replaceRequested atomic.Bool

	mu      sync.RWMutex // read-locked to add, locked to stop
	stopped bool
	library libraryWheel
}

func startGeneration(w *Wheel, number uint32) *generation {
	now := time.Now()
	m := &generation{wheel: w, number: number, startedAt: now, startedWall: now.Round(0), library: w.newLibrary()}
	m.lastHeartbeat.Store(int64(w.now()))
	m.after(heartbeatEvery, m.heartbeat)
	return m
}

// alignedStart returns the time from which ticks are counted, at most a tick
// and a margin before now. From there our ticks end when the library's ticks
// end, or up to 1 ms earlier. A wake-up is rounded to the nearest library tick
// and is therefore not early.
func alignedStart(now time.Time) time.Time {
	const margin = time.Millisecond // the library counts in ms
	return now.Add(-time.Duration(now.UnixNano()%int64(tick)) - margin)
}

// wakeAfter wakes s after d, which is at most maxEntryWait.
func (m *generation) wakeAfter(s *slot, d time.Duration) { m.scheduleWake(s, d, m.wheel.now()+d) }

func (m *generation) scheduleWake(s *slot, d, due time.Duration) {
	if entry := m.after(d, func() { m.wake(s, due) }); entry != nil {
		s.keepEntry(entry)
	}
}

// wake runs in a goroutine of the library, so it must be short. If a slot wakes
// much too early, wake does not wait again, because that would be a busy loop.
// The next generation takes the slot over. If a slot wakes slightly too early,
// the wall clock has stepped by as much, and the next library tick is soon
// enough.
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

// heartbeat refreshes the library's current time, which advances only when a slot is
// due, and shows that the wheel runs.
func (m *generation) heartbeat() {
	now := m.wheel.now()
	due := time.Duration(m.lastHeartbeat.Swap(int64(now))) + heartbeatEvery
	m.beats.Add(1)
	if due-now > tick {
		m.requestReplacement()
		return
	}
	m.after(heartbeatEvery, m.heartbeat)
}

// after calls f at the library tick nearest to d from now; the library itself
// rounds down. After stop it returns nil and never calls f.
func (m *generation) after(d time.Duration, f func()) *timingwheel.Timer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.stopped {
		return nil
	}
	return m.library.AfterFunc(d+tick/2, f)
}

// hasClockStepped reports whether the wall clock, which the library follows,
// was set since the generation started.
func (m *generation) hasClockStepped() bool {
	now := time.Now()
	return (now.Round(0).Sub(m.startedWall) - now.Sub(m.startedAt)).Abs() > maxClockStep
}

// requestReplacement asks the watch goroutine for a new generation.
func (m *generation) requestReplacement() {
	m.replaceRequested.Store(true)
	select {
	case m.wheel.replace <- struct{}{}:
	default: // a request is waiting already
	}
}

// stop ends the library's goroutines. It gives up after stuckAfter, because
// then they are deadlocked.
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
