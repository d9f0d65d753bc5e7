package timer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const (
	tick   = 10 * time.Millisecond
	slots  = 16384
	maxHop = tick * slots / 4

	beatEvery = time.Second
	// maxStep is how far the wall clock may step against the monotonic one
	// before timers are taken over by a fresh wheel.
	maxStep = 5 * tick
)

// clockwork is what we use of the library's wheel. Durations in are rounded
// down to its ticks, those of the wall clock; functions are called in goroutines
// of their own.
type clockwork interface {
	AfterFunc(d time.Duration, f func()) *timingwheel.Timer
	Stop()
}

func newClockwork() clockwork {
	wheel := timingwheel.NewTimingWheel(tick, slots)
	wheel.Start()
	return wheel
}

// movement is one wheel of the library, with its heartbeat, as long as it
// runs true. A Wheel replaces it by one of a higher number when it does not.
type movement struct {
	wheel  *Wheel
	number uint32
	born   time.Time // by the monotonic clock
	wall   time.Time // the same instant by the wall clock

	beats     atomic.Uint64
	beatAt    atomic.Int64 // since wheel.start, ns
	condemned atomic.Bool

	mu        sync.RWMutex // nobody adds while clockwork stops
	stopped   bool
	clockwork clockwork
}

func startMovement(w *Wheel, number uint32) *movement {
	born := time.Now()
	m := &movement{wheel: w, number: number, born: born, wall: born.Round(0), clockwork: w.build()}
	m.beatAt.Store(int64(w.now()))
	m.after(beatEvery, m.beat)
	return m
}

// aligned is the instant, at most a tick and a bit before now, that ticks are
// counted from so that they end when the library's do, or a bit before: a wake-up
// is rounded to the nearest of the library's ticks, and is not early.
func aligned(now time.Time) time.Time {
	const bit = time.Millisecond // the library reckons in these
	return now.Add(-time.Duration(now.UnixNano()%int64(tick)) - bit)
}

// arm wakes s after d, which is at most maxHop.
func (m *movement) arm(s *slot, d time.Duration) { m.hop(s, d, m.wheel.now()+d) }

func (m *movement) hop(s *slot, d, due time.Duration) {
	if hop := m.after(d, func() { m.wake(s, due) }); hop != nil {
		s.hold(hop)
	}
}

// wake runs in a goroutine of the library, so it must be short. Where slots
// wake much too early it does not arm again, for that would be a busy loop: the
// next movement takes s over. Where they do by a little, the wall clock has
// stepped by as much: the next of the library's ticks is soon enough.
func (m *movement) wake(s *slot, due time.Duration) {
	left := due - m.wheel.now()
	switch {
	case s.gone():
	case left > tick:
		m.condemn()
	case left > 0:
		m.hop(s, left+tick/2, due)
	default:
		m.wheel.step(m, s)
	}
}

// beat keeps the library's idea of the time fresh, which moves only when a
// slot is due, and shows that the wheel turns.
func (m *movement) beat() {
	now := m.wheel.now()
	due := time.Duration(m.beatAt.Swap(int64(now))) + beatEvery
	m.beats.Add(1)
	if due-now > tick {
		m.condemn()
		return
	}
	m.after(beatEvery, m.beat)
}

// after calls f at that of the library's ticks which is nearest to d from now,
// for it rounds down. It returns nil, and f is not called, once stopped.
func (m *movement) after(d time.Duration, f func()) *timingwheel.Timer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.stopped {
		return nil
	}
	return m.clockwork.AfterFunc(d+tick/2, f)
}

// stepped reports that the wall clock, by which the library goes, has been
// set since the movement was born.
func (m *movement) stepped() bool {
	now := time.Now()
	return (now.Round(0).Sub(m.wall) - now.Sub(m.born)).Abs() > maxStep
}

// condemn asks the watch for a replacement.
func (m *movement) condemn() {
	m.condemned.Store(true)
	select {
	case m.wheel.alarm <- struct{}{}:
	default: // an alarm is waiting already
	}
}

// stop ends the library's goroutines. It stops waiting for them when they
// would have had time to end many times over: they are deadlocked.
func (m *movement) stop() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.mu.Lock()
		m.stopped = true
		m.mu.Unlock()
		m.clockwork.Stop()
	}()
	giveUp := time.NewTimer(stuckAfter)
	defer giveUp.Stop()
	select {
	case <-done:
	case <-giveUp.C:
	}
}
