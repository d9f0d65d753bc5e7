package timer_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

const tick = 10 * time.Millisecond

// runWithWheel runs a test with a wheel in virtual time.
func runWithWheel(t *testing.T, test func(t *testing.T, wheel *timer.Wheel)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel := timer.New(timer.Config{})
		defer wheel.Close()
		test(t, wheel)
	})
}

// This test runs in real time, next to the runtime's own timers.
func TestThousandsOfTimersAreNeverEarly(t *testing.T) {
	t.Parallel()
	wheel := timer.New(timer.Config{})
	t.Cleanup(wheel.Close)
	const timers = 20_000
	var early, calls atomic.Int64
	var pendingCalls sync.WaitGroup
	pendingCalls.Add(2 * timers)
	for range timers {
		wait := time.Duration(rand.Int64N(int64(400 * time.Millisecond)))
		start := time.Now()
		record := func() {
			defer pendingCalls.Done()
			calls.Add(1)
			if time.Since(start) < wait {
				early.Add(1)
			}
		}
		wheel.After(wait, record)
		time.AfterFunc(wait, record)
	}
	pendingCalls.Wait()
	if early.Load() != 0 || calls.Load() != 2*timers {
		t.Errorf("%d calls, %d of them early; want %d, 0", calls.Load(), early.Load(), 2*timers)
	}
	if stats := wheel.Stats(); stats.Fired != timers || stats.Pending != 0 || stats.MaxLate <= 0 {
		t.Errorf("stats %+v", stats)
	}
}

func TestAfterAcceptsAnyDuration(t *testing.T) {
	runWithWheel(t, func(t *testing.T, wheel *timer.Wheel) {
		called := make(chan struct{})
		farTimer := wheel.After(math.MaxInt64, func() { t.Error("called 292 years early") })
		wheel.After(-time.Hour, func() { close(called) })
		<-called
		time.Sleep(time.Hour)
		if !farTimer.Stop() {
			t.Error("Stop of a far timer = false, want true")
		}
	})
}

func TestAfterRefusesNil(t *testing.T) {
	t.Parallel()
	wheel := timer.New(timer.Config{})
	t.Cleanup(wheel.Close)
	defer func() {
		if recover() == nil {
			t.Error("After accepted a nil function")
		}
	}()
	wheel.After(0, nil)
}

// Several goroutines stop a timer at about its deadline. Either one of them prevents the call, or
// the function is called.
func TestStopAndCallExcludeEachOther(t *testing.T) {
	t.Parallel()
	wheel := timer.New(timer.Config{})
	t.Cleanup(wheel.Close)
	const timers, stoppers = 2000, 3
	var ends [timers]atomic.Int32
	var stopperGroup sync.WaitGroup
	for i := range timers {
		due := make(chan struct{})
		wait := time.Duration(rand.Int64N(int64(30 * time.Millisecond)))
		time.AfterFunc(wait+time.Duration(rand.Int64N(int64(15*time.Millisecond))), func() { close(due) })
		pending := wheel.After(wait, func() { ends[i].Add(1) })
		for range stoppers {
			stopperGroup.Go(func() {
				<-due
				if pending.Stop() {
					ends[i].Add(1)
				}
			})
		}
	}
	stopperGroup.Wait()
	wheel.Close()
	for i := range ends {
		if got := ends[i].Load(); got != 1 {
			t.Fatalf("timer %d ended %d times", i, got)
		}
	}
	if stats := wheel.Stats(); stats.Fired+stats.Stopped != timers || stats.Pending != 0 {
		t.Errorf("stats %+v do not add up to %d", stats, timers)
	}
}
