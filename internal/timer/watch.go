package timer

import "time"

const (
	illAfter   = 3 * beatEvery
	stuckBeats = 5
	stuckAfter = stuckBeats * beatEvery
)

// Healthy reports whether the wheel turns: open, and the last heartbeat not
// older than 3 s. A stuck wheel is replaced some 5 s after its last heartbeat,
// so false for longer means that the process gets no CPU.
func (w *Wheel) Healthy() bool {
	w.mu.RLock()
	closed := w.closed
	w.mu.RUnlock()
	return !closed && w.BeatAge() <= illAfter
}

// BeatAge is how long ago the wheel last showed that it turns: about 1 s at
// most while all is well.
func (w *Wheel) BeatAge() time.Duration {
	return w.now() - time.Duration(w.present().beatAt.Load())
}

func (w *Wheel) present() *movement {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.movement
}

// watch replaces a movement that is condemned, stuck, or goes by a wall clock
// that was set. It counts its own rounds without a beat, not the beat's age: a
// process that was suspended for a while comes back to a wheel that is fine.
func (w *Wheel) watch() {
	rounds := time.NewTicker(beatEvery)
	defer rounds.Stop()
	var seen uint64
	silent := 0
	for {
		select {
		case <-w.quit:
			return
		case <-w.alarm:
		case <-rounds.C:
			silent++
		}
		m := w.present()
		if beats := m.beats.Load(); beats != seen {
			seen, silent = beats, 0
		}
		if silent >= stuckBeats || m.condemned.Load() || m.stepped() {
			w.rebuild(m)
			seen, silent = 0, 0
		}
	}
}

// rebuild puts a fresh movement in place of old, with all slots that wait.
// Those that came while it ran are adopted by Set, by this, or by both.
func (w *Wheel) rebuild(old *movement) {
	fresh := startMovement(w, old.number+1)
	w.mu.Lock()
	w.movement = fresh
	w.mu.Unlock()
	w.rebuilt.Add(1)
	w.watcher.Go(old.stop)
	for i := range w.stripes {
		for _, s := range w.stripes[i].all() {
			w.adopt(fresh, s)
		}
	}
}
