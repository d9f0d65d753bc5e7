package timer

import "time"

const (
	unhealthyAfter = 3 * beatEvery
	maxMissedBeats = 5
	stuckAfter     = maxMissedBeats * beatEvery
)

// Healthy reports whether the wheel turns: open, and the last heartbeat not
// older than 3 s. A stuck wheel is replaced some 5 s after its last heartbeat,
// so false for longer means that the process gets no CPU.
func (w *Wheel) Healthy() bool {
	w.mu.RLock()
	closed := w.closed
	w.mu.RUnlock()
	return !closed && w.BeatAge() <= unhealthyAfter
}

// BeatAge is how long ago the wheel last showed that it turns: about 1 s at
// most while all is well.
func (w *Wheel) BeatAge() time.Duration {
	return w.now() - time.Duration(w.current().lastBeat.Load())
}

func (w *Wheel) current() *generation {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.generation
}

// watch replaces a movement that is condemned, stuck, or goes by a wall clock
// that was set. It counts its own rounds without a beat, not the beat's age: a
// process that was suspended for a while comes back to a wheel that is fine.
func (w *Wheel) watch() {
	ticker := time.NewTicker(beatEvery)
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

// rebuild puts a fresh movement in place of old, with all slots that wait.
// Those that came while it ran are adopted by Set, by this, or by both.
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
