package timer

import "time"

const (
	unhealthyAfter = 3 * heartbeatEvery              // age of the last heartbeat above which Healthy returns false
	maxMissedBeats = 5                               // missed heartbeats after which a generation counts as stuck
	stuckAfter     = maxMissedBeats * heartbeatEvery // maximum wait for a generation to stop
)

// Healthy reports whether the wheel is open and its last heartbeat is at most
// 3 s old. A stuck library wheel is replaced about 5 s after its last heartbeat.
// If Healthy returns false for longer, the process gets no CPU time.
func (w *Wheel) Healthy() bool {
	w.mu.RLock()
	closed := w.closed
	w.mu.RUnlock()
	return !closed && w.HeartbeatAge() <= unhealthyAfter
}

// HeartbeatAge returns the time since the last heartbeat. In normal operation it
// is at most about 1 s.
func (w *Wheel) HeartbeatAge() time.Duration {
	return w.now() - time.Duration(w.current().lastHeartbeat.Load())
}

func (w *Wheel) current() *generation {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.generation
}

// watchGenerations replaces a generation that requested it, that is stuck, or
// whose wall clock has stepped. To detect a stuck generation, it counts its own
// ticks without a heartbeat, and does not use the age of the last heartbeat. So a
// wheel is not replaced because the process was suspended. It returns when quit
// is closed.
func (w *Wheel) watch() {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	var seen uint64
	missed := 0
	for {
		select {
		case <-w.quit:
			return
		case <-w.replace:
		case <-ticker.C:
			missed++
		}
		m := w.current()
		if beats := m.beats.Load(); beats != seen {
			seen, missed = beats, 0
		}
		if missed >= maxMissedBeats || m.replaceRequested.Load() || m.hasClockStepped() {
			w.rebuild(m)
			seen, missed = 0, 0
		}
	}
}

// replaceGeneration replaces old by a new generation that takes over all slots
// that are not due yet. Slots that are added during the call are assigned by Set, by
// replaceGeneration, or by both.
func (w *Wheel) rebuild(old *generation) {
	fresh := startGeneration(w, old.number+1)
	w.mu.Lock()
	w.generation = fresh
	w.mu.Unlock()
	w.rebuilt.Add(1)
	w.watchDone.Go(old.stop)
	for i := range w.shards {
		for _, s := range w.shards[i].waitingSlots() {
			w.assign(fresh, s)
		}
	}
}
