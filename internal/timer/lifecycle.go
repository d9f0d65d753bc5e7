package timer

import "time"

const (
	watchInterval = time.Second
	// maxOverdue is how long after its deadline a slot may still wait for the
	// library.
	maxOverdue = 2 * time.Second
)

// Config configures a Wheel. The zero value means the defaults.
type Config struct {
	Workers int // maximum number of functions that run at the same time; 0 or less: defaultWorkers
}

const defaultWorkers = 32

// New starts a Wheel: its workers, its watch goroutine, and the library's two
// goroutines.
func New(config Config) *Wheel {
	return newWheel(config, newLibraryWheel)
}

func newWheel(config Config, newLibrary func() libraryWheel) *Wheel {
	workers := config.Workers
	if workers <= 0 {
		workers = defaultWorkers
	}
	wheel := &Wheel{
		startTime:  alignedStart(time.Now()),
		newLibrary: newLibrary,
		workers:    workers,
		quit:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	for i := range wheel.shards {
		wheel.shards[i].slots = make(map[int64]*slot)
	}
	wheel.runQueue.workAvailable.L = &wheel.runQueue.mu
	wheel.generation = startGeneration(wheel.startTime, newLibrary())
	wheel.watchGroup.Go(wheel.watchGeneration)
	for range workers {
		wheel.workerGroup.Go(wheel.work)
	}
	return wheel
}

// work calls the functions of due timers, one after the other, until Close.
func (w *Wheel) work() {
	for fn := w.runQueue.waitForCall(w.now); fn != nil; fn = w.runQueue.waitForCall(w.now) {
		fn()
	}
}

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
	replacement := startGeneration(w.startTime, w.newLibrary())
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

// Close stops all pending timers and waits for running functions and for all
// goroutines that New started. A second Close waits for the first. A function
// of a timer must not call Close, because it would wait forever.
func (w *Wheel) Close() {
	w.mu.Lock()
	closing := w.closed
	w.closed = true
	w.mu.Unlock()
	if closing {
		<-w.done
		return
	}
	close(w.quit)
	w.watchGroup.Wait()
	for i := range w.shards {
		w.shards[i].close()
	}
	for slot := w.runQueue.close(); slot != nil; slot = slot.nextDue {
		slot.stopAll()
	}
	w.currentGeneration().stop() // watchGeneration has returned, so the generation cannot change
	w.workerGroup.Wait()
	close(w.done)
}
