package timer

import (
	"sync"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const (
	tick         = 10 * time.Millisecond
	wheelSlots   = 16384                 // slots of a library wheel; one round is 164 s
	maxEntryWait = tick * wheelSlots / 4 // longest wait of one library entry: a quarter of a round, 41 s

	refreshInterval = time.Second
	// maxClockStep is how far the wall clock may step against the monotonic
	// clock before a new generation takes over.
	maxClockStep = 5 * tick
	// maxStopWait limits the wait for the library's goroutines to end.
	maxStopWait = 5 * time.Second
)

// libraryWheel is the part of the library's wheel that this package uses. The
// library rounds durations down to its ticks, which follow the wall clock. It
// calls each function in a new goroutine.
type libraryWheel interface {
	AfterFunc(d time.Duration, f func()) *timingwheel.Timer
	Stop()
}

func newLibraryWheel() libraryWheel {
	wheel := timingwheel.NewTimingWheel(tick, wheelSlots)
	wheel.Start()
	return wheel
}

// generation is one wheel of the library. The Wheel replaces a faulty generation.
type generation struct {
	wheelStart  time.Time // Wheel.startTime
	startedAt   time.Time // by the monotonic clock
	startedWall time.Time // the same time by the wall clock

	mu           sync.RWMutex // read-locked while an entry is added, locked to set stopped
	stopped      bool
	libraryWheel libraryWheel
}

func startGeneration(wheelStart time.Time, library libraryWheel) *generation {
	now := time.Now()
	started := &generation{wheelStart: wheelStart, startedAt: now, startedWall: now.Round(0), libraryWheel: library}
	started.refresh()
	return started
}

// alignedStart returns the time from which ticks are counted, at most a tick
// and a margin before now. Ticks counted from that time end when the library's
// ticks end, or up to 1 ms earlier. So a wake-up, which is rounded to the nearest
// library tick, is not early.
func alignedStart(now time.Time) time.Time {
	const margin = time.Millisecond // the library counts in ms
	return now.Add(-time.Duration(now.UnixNano()%int64(tick)) - margin)
}

// refresh keeps the library's current time up to date, which advances only when an
// entry is due.
func (g *generation) refresh() { g.callAt(time.Since(g.wheelStart)+refreshInterval, g.refresh) }

// callAt calls fn at a time since wheel.startTime, or later. It adds a library entry for
// the library tick that is nearest to that time: half a tick more, because the library
// rounds down. If the library calls early, because the wall clock has stepped or the
// library's time has jumped, a timer of the runtime waits for the rest. After stop, callAt
// does nothing.
func (g *generation) callAt(due time.Duration, fn func()) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.stopped {
		return
	}
	g.libraryWheel.AfterFunc(due-time.Since(g.wheelStart)+tick/2, func() {
		if early := due - time.Since(g.wheelStart); early > 0 {
			time.AfterFunc(early, fn)
			return
		}
		fn()
	})
}

// hasClockStepped reports whether the wall clock, which the library follows,
// was set since the generation started.
func (g *generation) hasClockStepped() bool {
	now := time.Now()
	return (now.Round(0).Sub(g.startedWall) - now.Sub(g.startedAt)).Abs() > maxClockStep
}

// stop ends the library's goroutines. It returns after maxStopWait at the latest,
// because then they are deadlocked.
func (g *generation) stop() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		g.mu.Lock()
		g.stopped = true
		g.mu.Unlock()
		g.libraryWheel.Stop()
	}()
	timeout := time.NewTimer(maxStopWait)
	defer timeout.Stop()
	select {
	case <-stopped:
	case <-timeout.C:
	}
}
