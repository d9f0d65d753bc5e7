package timer

import "time"

const (
	unhealthyAfter      = 3 * heartbeatInterval                   // age of the last heartbeat above which Healthy returns false
	maxMissedHeartbeats = 5                                       // missed heartbeats after which a generation counts as stuck
	stuckAfter          = maxMissedHeartbeats * heartbeatInterval // maximum wait for a generation to stop
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
	return w.now() - time.Duration(w.currentGeneration().lastHeartbeat.Load())
}

func (w *Wheel) currentGeneration() *generation {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.generation
}

// watchGenerations replaces a generation that requested it, that is stuck, or
// whose wall clock has stepped. To detect a stuck generation, it counts its own
// ticks without a heartbeat, and does not use the age of the last heartbeat. So a
// wheel is not replaced because the process was suspended. It returns when quit
// is closed.
func (w *Wheel) watchGenerations() {
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	var seenHeartbeats uint64
	missed := 0
	for {
		select {
		case <-w.quit:
			return
		case <-w.replaceRequests:
		case <-ticker.C:
			missed++
		}
		current := w.currentGeneration()
		if heartbeats := current.heartbeats.Load(); heartbeats != seenHeartbeats {
			seenHeartbeats, missed = heartbeats, 0
		}
		if missed >= maxMissedHeartbeats || current.replaceRequested.Load() || current.hasClockStepped() {
			w.replaceGeneration(current)
			seenHeartbeats, missed = 0, 0
		}
	}
}

// replaceGeneration replaces old by a new generation that takes over all slots
// that are not due yet. Slots that are added during the call are assigned by Set, by
// replaceGeneration, or by both.
func (w *Wheel) replaceGeneration(old *generation) {
	replacement := startGeneration(w, old.number+1)
	w.mu.Lock()
	w.generation = replacement
	w.mu.Unlock()
	w.replacedCount.Add(1)
	w.watchGroup.Go(old.stop)
	for i := range w.shards {
		for _, slot := range w.shards[i].waitingSlots() {
			w.assignSlot(replacement, slot)
		}
	}
}
