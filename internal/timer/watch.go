package timer

import "time"

const (
	watchInterval = time.Second
	// maxOverdue is how long after its deadline a slot may still wait for the
	// library.
	maxOverdue = 2 * time.Second
)

// watchGeneration replaces a generation that is faulty: it has not woken a slot that is
// overdue, or its wall clock has stepped. It returns when quit is closed.
func (w *Wheel) watchGeneration() {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
		}
		current := w.currentGeneration()
		if current.hasClockStepped() || w.hasOverdueSlot() {
			w.replaceGeneration(current)
		}
	}
}

func (w *Wheel) hasOverdueSlot() bool {
	limit := tickNumberAt(w.now() - maxOverdue)
	for i := range w.shards {
		if w.shards[i].hasSlotBefore(limit) {
			return true
		}
	}
	return false
}

// replaceGeneration starts a new generation that takes over all slots that are not
// due yet. A slot that is added during the call may get two entries; the later one
// finds that the slot is not waiting any more.
func (w *Wheel) replaceGeneration(former *generation) {
	replacement := startGeneration(w)
	w.mu.Lock()
	w.generation = replacement
	w.mu.Unlock()
	w.replacedCount.Add(1)
	w.watchGroup.Go(former.stop)
	for i := range w.shards {
		for _, slot := range w.shards[i].waitingSlots() {
			w.scheduleOrQueue(replacement, slot)
		}
	}
}

func (w *Wheel) currentGeneration() *generation {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.generation
}
