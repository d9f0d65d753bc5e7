package timer_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

func TestCloseStopsPendingTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := timer.New(timer.Config{})
		pending := w.After(time.Minute, func() { t.Error("called after Close") })
		w.Close()
		w.Close()
		late := w.After(0, func() { t.Error("a closed wheel called") })
		time.Sleep(time.Hour)
		if pending.Stop() || late.Stop() {
			t.Error("Stop after Close = true, want false")
		}
		if w.Healthy() {
			t.Error("Healthy of a closed wheel = true, want false")
		}
		if s := w.Stats(); s.Pending != 0 || s.Stopped != 1 {
			t.Errorf("stats %+v, want 0 pending, 1 stopped", s)
		}
	})
}

func TestCloseWaitsForRunningFunctions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := timer.New(timer.Config{})
		var ended atomic.Bool
		w.After(time.Second, func() {
			time.Sleep(time.Minute)
			ended.Store(true)
		})
		time.Sleep(10 * time.Second)
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() {
				w.Close()
				if !ended.Load() {
					t.Error("Close returned before a function that was running")
				}
			})
		}
		closers.Wait()
	})
}

// Close runs at the same time as adds, stops and calls. No function is called
// afterwards, nothing hangs, and no goroutine is left (TestMain checks that).
func TestCloseRacesWithEverything(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := timer.New(timer.Config{Workers: 2})
		var closed, late atomic.Bool
		var ends, made atomic.Uint64
		var all sync.WaitGroup
		underWay := make(chan struct{})
		for n := range 4 {
			all.Go(func() {
				for i := range 500 {
					own := w.After(time.Duration(i%7*n)*time.Millisecond, func() {
						late.CompareAndSwap(false, closed.Load())
						ends.Add(1)
					})
					if made.Add(1) == 300 {
						close(underWay)
					}
					if i%3 == 0 && own.Stop() {
						ends.Add(1)
					}
				}
			})
		}
		<-underWay
		w.Close()
		closed.Store(true)
		all.Wait()
		s := w.Stats()
		if late.Load() || s.Pending != 0 || ends.Load() > s.Fired+s.Stopped {
			t.Fatalf("called after Close: %v; %d ends seen, stats %+v", late.Load(), ends.Load(), s)
		}
	}
}
