package timer_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

// newBusyWheel returns a wheel whose only worker is busy until release is closed.
func newBusyWheel(onCall func(time.Duration)) (wheel *timer.Wheel, release chan struct{}) {
	wheel = timer.New(timer.Config{Workers: 1, OnCall: onCall})
	release = make(chan struct{})
	wheel.After(0, func() { <-release })
	synctest.Wait()
	return wheel, release
}

func TestBusyWorkersDelayTimersButLoseNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var delays []time.Duration
		wheel, release := newBusyWheel(func(late time.Duration) { delays = append(delays, late) })
		defer wheel.Close()
		const timers = 50
		var calls atomic.Int32
		for i := range timers {
			wheel.After(time.Duration(1+i%2)*time.Second, func() { calls.Add(1) })
		}
		time.Sleep(30 * time.Second)
		if stats := wheel.Stats(); calls.Load() != 0 || stats.Pending != timers || stats.Waiting != timers || stats.Running != 1 || stats.Slots != 0 {
			t.Errorf("while busy: %d calls, stats %+v", calls.Load(), stats)
		}
		close(release)
		time.Sleep(time.Second)
		stats := wheel.Stats()
		if calls.Load() != timers || stats.Pending != 0 || stats.Waiting != 0 || stats.Running != 0 {
			t.Errorf("afterwards: %d calls, stats %+v", calls.Load(), stats)
		}
		slices.Sort(delays)
		if len(delays) != timers+1 || delays[0] != 0 || delays[1] < 28*time.Second || delays[timers] != stats.MaxLate {
			t.Errorf("the delays are %v, at most %v", delays, stats.MaxLate)
		}
	})
}

// Functions that block occupy all workers. The next functions do not wait while a worker is idle.
func TestBlockingFunctionsUseAllWorkers(t *testing.T) {
	t.Parallel()
	for _, distance := range []time.Duration{0, time.Second} { // 0: all in one tick, so the workers are woken once
		synctest.Test(t, func(t *testing.T) {
			const workers = 7
			wheel := timer.New(timer.Config{Workers: workers})
			defer wheel.Close()
			release := make(chan struct{})
			for i := range 2 * workers {
				wheel.After(time.Second+time.Duration(i)*distance, func() { <-release })
			}
			time.Sleep(time.Minute)
			if stats := wheel.Stats(); stats.Running != workers || stats.Waiting != workers {
				t.Errorf("stats %+v, want %d running, as many waiting", stats, workers)
			}
			close(release)
			synctest.Wait()
			if stats := wheel.Stats(); stats.Running != 0 || stats.Pending != 0 {
				t.Errorf("stats %+v, want none running, none pending", stats)
			}
		})
	}
}

func TestStopReachesDueTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel, release := newBusyWheel(nil)
		defer wheel.Close()
		due := wheel.After(time.Second, func() { t.Error("the function of a stopped timer was called, which was due") })
		dueImmediately := wheel.After(0, func() { t.Error("the function of a stopped timer was called, which was due immediately") })
		time.Sleep(time.Minute)
		if !due.Stop() || !dueImmediately.Stop() {
			t.Error("Stop before the call = false, want true")
		}
		if stats := wheel.Stats(); stats.Pending != 0 || stats.Waiting != 0 || stats.Stopped != 2 {
			t.Errorf("stats %+v, want none pending, 2 stopped", stats)
		}
		close(release)
		time.Sleep(time.Minute)
	})
}

func TestCloseStopsDueTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel, release := newBusyWheel(nil)
		for i := range 9 {
			wheel.After(time.Duration(i%3)*time.Second, func() { t.Error("called after Close") })
		}
		time.Sleep(time.Minute)
		var closing sync.WaitGroup
		closing.Go(wheel.Close)
		synctest.Wait()
		if stats := wheel.Stats(); stats.Pending != 0 || stats.Waiting != 0 || stats.Stopped != 9 {
			t.Errorf("stats %+v, want 9 stopped", stats)
		}
		close(release)
		closing.Wait()
	})
}

func TestFunctionsMayUseTheWheel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel := timer.New(timer.Config{Workers: 1})
		defer wheel.Close()
		rounds := make(chan int)
		var nextRound func(n int) func()
		nextRound = func(n int) func() {
			return func() {
				if n == 100 {
					rounds <- n
					return
				}
				wheel.After(time.Minute, func() { t.Error("the function of a stopped timer was called") }).Stop()
				wheel.After(time.Second, nextRound(n+1))
			}
		}
		start := time.Now()
		wheel.After(0, nextRound(0))
		<-rounds
		if took := time.Since(start); took < 100*time.Second || took > 102*time.Second {
			t.Errorf("100 rounds of 1 s took %v", took)
		}
	})
}
