package timer_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

// busyWheel returns a wheel whose only worker is busy until release is closed.
func busyWheel() (w *timer.Wheel, release chan struct{}) {
	w = timer.New(timer.Config{Workers: 1})
	release = make(chan struct{})
	w.After(0, func() { <-release })
	synctest.Wait()
	return w, release
}

func TestBusyWorkersLoseNoTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, release := busyWheel()
		defer w.Close()
		const timers = 50
		var calls atomic.Int32
		for i := range timers {
			w.After(time.Duration(1+i%2)*time.Second, func() { calls.Add(1) })
		}
		time.Sleep(30 * time.Second)
		if s := w.Stats(); calls.Load() != 0 || s.Pending != timers || s.Waiting != timers || s.Running != 1 || s.Slots != 0 {
			t.Errorf("while busy: %d calls, stats %+v", calls.Load(), s)
		}
		if !w.Healthy() {
			t.Error("Healthy with busy workers = false, want true")
		}
		close(release)
		time.Sleep(time.Second)
		s := w.Stats()
		if calls.Load() != timers || s.Pending != 0 || s.Waiting != 0 || s.Running != 0 {
			t.Errorf("afterwards: %d calls, stats %+v", calls.Load(), s)
		}
		if last := len(timer.Bounds) - 1; s.Late.Max < 28*time.Second || s.Late.Sum < timers*28*time.Second || s.Late.Within[last] != 1 {
			t.Errorf("lateness %+v, want all but one later than %v", s.Late, timer.Bounds[last])
		}
	})
}

// Functions that block occupy the workers one by one, to the last. Those behind
// them do not wait for an idle worker.
func TestBlockingFunctionsUseAllWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers = 7
		w := timer.New(timer.Config{Workers: workers})
		defer w.Close()
		release := make(chan struct{})
		for range 2 * workers { // of one tick: there is one wake-up
			w.After(time.Second, func() { <-release })
		}
		time.Sleep(time.Minute)
		if s := w.Stats(); s.Running != workers || s.Waiting != workers {
			t.Errorf("stats %+v, want %d running, as many waiting", s, workers)
		}
		close(release)
		synctest.Wait()
		if s := w.Stats(); s.Running != 0 || s.Pending != 0 {
			t.Errorf("stats %+v, want none running, none pending", s)
		}
	})
}

func TestStopReachesDueTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, release := busyWheel()
		defer w.Close()
		due := w.After(time.Second, func() { t.Error("a stopped timer called that was due") })
		atOnce := w.After(0, func() { t.Error("a stopped timer called that was due at once") })
		time.Sleep(time.Minute)
		if !due.Stop() || !atOnce.Stop() {
			t.Error("Stop before the call = false, want true")
		}
		if s := w.Stats(); s.Pending != 0 || s.Waiting != 0 || s.Stopped != 2 {
			t.Errorf("stats %+v, want none pending, 2 stopped", s)
		}
		close(release)
		time.Sleep(time.Minute)
	})
}

func TestCloseStopsDueTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, release := busyWheel()
		for i := range 9 {
			w.After(time.Duration(i%3)*time.Second, func() { t.Error("called after Close") })
		}
		time.Sleep(time.Minute)
		var closing sync.WaitGroup
		closing.Go(w.Close)
		synctest.Wait()
		if s := w.Stats(); s.Pending != 0 || s.Waiting != 0 || s.Stopped != 9 {
			t.Errorf("stats %+v, want 9 stopped", s)
		}
		close(release)
		closing.Wait()
	})
}

func TestFunctionsMayUseTheWheel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := timer.New(timer.Config{Workers: 1})
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
