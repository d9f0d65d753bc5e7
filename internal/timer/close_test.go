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
		wheel := timer.New(timer.Config{})
		pending := wheel.After(time.Minute, func() { t.Error("called after Close") })
		wheel.Close()
		wheel.Close()
		addedAfterClose := wheel.After(0, func() { t.Error("a closed wheel called") })
		time.Sleep(time.Hour)
		if pending.Stop() || addedAfterClose.Stop() {
			t.Error("Stop after Close = true, want false")
		}
		if stats := wheel.Stats(); stats.Pending != 0 || stats.Stopped != 1 {
			t.Errorf("stats %+v, want 0 pending, 1 stopped", stats)
		}
	})
}

func TestCloseWaitsForRunningFunctions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel := timer.New(timer.Config{})
		var ended atomic.Bool
		wheel.After(time.Second, func() {
			time.Sleep(time.Minute)
			ended.Store(true)
		})
		time.Sleep(10 * time.Second)
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() {
				wheel.Close()
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
func TestNoFunctionIsCalledAfterClose(t *testing.T) {
	t.Parallel()
	for range 20 {
		wheel := timer.New(timer.Config{Workers: 2})
		var closed, calledAfterClose atomic.Bool
		var ends, created atomic.Uint64
		var goroutines sync.WaitGroup
		hasStarted := make(chan struct{})
		for goroutine := range 4 {
			goroutines.Go(func() {
				for i := range 500 {
					pending := wheel.After(time.Duration(i%7*goroutine)*time.Millisecond, func() {
						calledAfterClose.CompareAndSwap(false, closed.Load())
						ends.Add(1)
					})
					if created.Add(1) == 300 {
						close(hasStarted)
					}
					if i%3 == 0 && pending.Stop() {
						ends.Add(1)
					}
				}
			})
		}
		<-hasStarted
		wheel.Close()
		closed.Store(true)
		goroutines.Wait()
		stats := wheel.Stats()
		if calledAfterClose.Load() || stats.Pending != 0 || ends.Load() > stats.Fired+stats.Stopped {
			t.Fatalf("called after Close: %v; %d timers ended, stats %+v", calledAfterClose.Load(), ends.Load(), stats)
		}
	}
}
