package timer

import "time"

// Config configures a Wheel. The zero value means the defaults.
type Config struct {
	Workers int // maximum number of functions that run at the same time; 0 or less: defaultWorkers
}

const defaultWorkers = 32

// New starts a Wheel and its workers.
func New(config Config) *Wheel {
	workers := config.Workers
	if workers <= 0 {
		workers = defaultWorkers
	}
	wheel := &Wheel{startTime: time.Now(), workers: workers}
	for i := range wheel.shards {
		wheel.shards[i].slots = make(map[int64]*slot)
	}
	wheel.runQueue.workAvailable.L = &wheel.runQueue.mu
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

// Close stops all pending timers and waits for running functions and for all
// goroutines that New started. It may be called several times. A function
// of a timer must not call Close, because it would wait forever.
func (w *Wheel) Close() {
	for i := range w.shards {
		w.shards[i].close()
	}
	for slot := w.runQueue.close(); slot != nil; slot = slot.nextDue {
		slot.stopAll()
	}
	w.workerGroup.Wait()
}
