package timer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const (
	tick         = 10 * time.Millisecond
	slots        = 16384            // slots of a library wheel; one round is 164 s
	maxEntryWait = tick * slots / 4 // longest wait of one library entry: a quarter of a round, 41 s

	heartbeatEvery = time.Second
	// maxClockStep is how far the wall clock may step against the monotonic
	// clock before a new generation takes over.
	maxClockStep = 5 * tick
)

// libraryWheel is the part of the library's wheel that this package uses. The
// library rounds durations down to its ticks, which follow the wall clock. It
// calls each function in a new goroutine.
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
// a faulty generation by one with the next higher number.
type generation struct {
	wheel       *Wheel
	number      uint32
	startedAt   time.Time // by the monotonic clock
	startedWall time.Time // the same time by the wall clock

	beats            atomic.Uint64 // number of heartbeats
	lastHeartbeat    atomic.Int64  // time of the last heartbeat since wheel.startTime, ns
	replaceRequested atomic.Bool

	mu      sync.RWMutex // read-locked while an entry is added, locked to set stopped
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
// and a margin before now. Ticks counted from that time end when the library's
// ticks end, or up to 1 ms earlier. So a wake-up, which is rounded to the nearest
// library tick, is not early.
func alignedStart(now time.Time) time.Time {
	const margin = time.Millisecond // the library counts in ms
	return now.Add(-time.Duration(now.UnixNano()%int64(tick)) - margin)
}

// wakeAfter wakes a slot after wait, which is at most maxEntryWait.
func (m *generation) wakeAfter(s *slot, d time.Duration) { m.scheduleWake(s, d, m.wheel.now()+d) }

// scheduleWake adds a library entry that wakes a slot after wait. due is the time
// since wheel.startTime before which the slot must not wake.
func (m *generation) scheduleWake(s *slot, d, due time.Duration) {
	if entry := m.after(d, func() { m.wake(s, due) }); entry != nil {
		s.keepEntry(entry)
	}
}

// wakeSlot runs in a goroutine of the library, so it must be short. If the slot
// wakes more than a tick too early, the library is faulty. Then wakeSlot does not
// wait again, because that could be a busy loop; the next generation takes the
// slot over. If the slot wakes less than a tick too early, the wall clock has
// stepped by as much, and wakeSlot waits for the next library tick.
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

// callAfter calls fn at the library tick that is nearest to the end of wait. It
// adds half a tick, because the library rounds down. After stop it returns nil
// and never calls fn.
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

// stop ends the library's goroutines. It returns after stuckAfter at the latest,
// because then they are deadlocked.
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
