package timer_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

// A wheel whose only worker is busy until the release is closed.
func busyWheel(queue int) (w *timer.Wheel, release chan struct{}) {
	w = timer.New(timer.Config{Workers: 1, Queue: queue})
	release = make(chan struct{})
	w.After(0, func() { <-release })
	synctest.Wait()
	return w, release
}

func TestAFullQueueDelaysAndLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, release := busyWheel(2)
		defer w.Close()
		const timers = 50
		var calls atomic.Int32
		for range timers {
			w.After(time.Second, func() { calls.Add(1) })
		}
		time.Sleep(30 * time.Second)
		before := w.Stats()
		if calls.Load() != 0 || before.Pending != timers || before.Deferred < timers-2 {
			t.Errorf("while busy: %d calls, stats %+v", calls.Load(), before)
		}
		if before.Deferred > 48*30*5 {
			t.Errorf("%d tries in 30 s by 48 timers: they do not back off", before.Deferred)
		}
		if !w.Healthy() {
			t.Error("busy workers block the wheel")
		}
		close(release)
		time.Sleep(30 * time.Second)
		if s := w.Stats(); calls.Load() != timers || s.Pending != 0 || s.Late.Max < 29*time.Second {
			t.Errorf("afterwards: %d calls, stats %+v", calls.Load(), s)
		}
	})
}

func TestStopReachesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, release := busyWheel(1)
		defer w.Close()
		queued := w.After(time.Second, func() { t.Error("a stopped timer called from the queue") })
		waiting := w.After(2*time.Second, func() { t.Error("a stopped timer called while trying again") })
		time.Sleep(time.Minute)
		if !queued.Stop() || !waiting.Stop() {
			t.Error("Stop before the call = false, want true")
		}
		close(release)
		time.Sleep(time.Minute)
	})
}

func TestFunctionsMayUseTheWheel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := timer.New(timer.Config{Workers: 1, Queue: 1})
		defer w.Close()
		rounds := make(chan int)
		var again func(n int) func()
		again = func(n int) func() {
			return func() {
				if n == 100 {
					rounds <- n
					return
				}
				w.After(time.Minute, func() { t.Error("a stopped timer called") }).Stop()
				w.After(time.Second, again(n+1))
			}
		}
		start := time.Now()
		w.After(0, again(0))
		<-rounds
		if took := time.Since(start); took < 100*time.Second || took > 102*time.Second {
			t.Errorf("100 rounds of 1 s took %v", took)
		}
	})
}
