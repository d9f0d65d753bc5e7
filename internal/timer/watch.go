package timer

import "time"

const (
	unhealthyAfter = 3 * heartbeatEvery
	maxMissedBeats = 5
	stuckAfter     = maxMissedBeats * heartbeatEvery
)

// Healthy reports whether the wheel is open and its last heartbeat is at most 3
// s old. A stuck wheel is replaced about 5 s after its last heartbeat. If
// Healthy returns false for longer, the process gets no CPU.
func (w *Wheel) Healthy() bool {
	w.mu.RLock()
	closed := w.closed
	w.mu.RUnlock()
	return !closed && w.HeartbeatAge() <= unhealthyAfter
}

// HeartbeatAge is the time since the last heartbeat: at most about 1 s in normal
// operation.
func (w *Wheel) HeartbeatAge() time.Duration {
	return w.now() - time.Duration(w.current().lastHeartbeat.Load())
}

func (w *Wheel) current() *generation {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.generation
}

// watch replaces a generation that requested it, is stuck, or follows a wall
// clock that was set. It counts its own rounds without a heartbeat, not the age
// of the heartbeat. After a process was suspended, its wheel is therefore not
// replaced.
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

// rebuild replaces old by a new generation that takes over all waiting slots.
// Slots added in the meantime are assigned by Set, by rebuild, or by both.
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
