package timer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const (
	tick         = 10 * time.Millisecond
	wheelSlots   = 16384                 // slots of a library wheel; one round is 164 s
	maxEntryWait = tick * wheelSlots / 4 // longest wait of one library entry: a quarter of a round, 41 s

	heartbeatInterval = time.Second
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
	wheel := timingwheel.NewTimingWheel(tick, wheelSlots)
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

	heartbeats       atomic.Uint64 // number of heartbeats
	lastHeartbeat    atomic.Int64  // time of the last heartbeat since wheel.startTime, ns
	replaceRequested atomic.Bool

	mu           sync.RWMutex // read-locked while an entry is added, locked to set stopped
	stopped      bool
	libraryWheel libraryWheel
}

func startGeneration(wheel *Wheel, number uint32) *generation {
	now := time.Now()
	started := &generation{wheel: wheel, number: number, startedAt: now, startedWall: now.Round(0), libraryWheel: wheel.newLibrary()}
	started.lastHeartbeat.Store(int64(wheel.now()))
	started.callAfter(heartbeatInterval, started.heartbeat)
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

// wakeAfter wakes a slot after wait, which is at most maxEntryWait.
func (g *generation) wakeAfter(slot *slot, wait time.Duration) {
	g.scheduleWake(slot, wait, g.wheel.now()+wait)
}

// scheduleWake adds a library entry that wakes a slot after wait. due is the time
// since wheel.startTime before which the slot must not wake.
func (g *generation) scheduleWake(slot *slot, d, due time.Duration) {
	if entry := g.callAfter(d, func() { g.wakeSlot(slot, due) }); entry != nil {
		slot.storeEntry(entry)
	}
}

// wakeSlot runs in a goroutine of the library, so it must be short. If the slot
// wakes more than a tick too early, the library is faulty. Then wakeSlot does not
// wait again, because that could be a busy loop; the next generation takes the
// slot over. If the slot wakes less than a tick too early, the wall clock has
// stepped by as much, and wakeSlot waits for the next library tick.
func (g *generation) wakeSlot(slot *slot, due time.Duration) {
	remaining := due - g.wheel.now()
	switch {
	case slot.isRetired():
	case remaining > tick:
		g.requestReplacement()
	case remaining > 0:
		g.scheduleWake(slot, remaining+tick/2, due)
	default:
		g.wheel.scheduleOrQueue(g, slot)
	}
}

// heartbeat refreshes the library's current time, which advances only when a slot is
// due, and shows that the wheel runs.
func (g *generation) heartbeat() {
	now := g.wheel.now()
	due := time.Duration(g.lastHeartbeat.Swap(int64(now))) + heartbeatInterval
	g.heartbeats.Add(1)
	if due-now > tick {
		g.requestReplacement()
		return
	}
	g.callAfter(heartbeatInterval, g.heartbeat)
}

// callAfter calls fn at the library tick that is nearest to the end of wait. It
// adds half a tick, because the library rounds down. After stop it returns nil
// and never calls fn.
func (g *generation) callAfter(wait time.Duration, fn func()) *timingwheel.Timer {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.stopped {
		return nil
	}
	return g.libraryWheel.AfterFunc(wait+tick/2, fn)
}

// hasClockStepped reports whether the wall clock, which the library follows,
// was set since the generation started.
func (g *generation) hasClockStepped() bool {
	now := time.Now()
	return (now.Round(0).Sub(g.startedWall) - now.Sub(g.startedAt)).Abs() > maxClockStep
}

// requestReplacement asks the watch goroutine for a new generation.
func (g *generation) requestReplacement() {
	g.replaceRequested.Store(true)
	select {
	case g.wheel.replaceRequests <- struct{}{}:
	default: // a request is waiting already
	}
}

// stop ends the library's goroutines. It returns after stuckAfter at the latest,
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
	timeout := time.NewTimer(stuckAfter)
	defer timeout.Stop()
	select {
	case <-stopped:
	case <-timeout.C:
	}
}
