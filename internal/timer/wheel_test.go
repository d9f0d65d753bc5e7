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
	if stats := wheel.Stats(); stats.Fired != timers || stats.Pending != 0 || stats.Late.Max <= 0 || stats.Late.Sum < stats.Late.Max {
		t.Errorf("stats %+v", stats)
	}
}

func TestAfterChainsLongWaits(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{
		0, time.Millisecond, tick, 20 * time.Second,
		40960 * time.Millisecond, 40961 * time.Millisecond, 164 * time.Second, 26 * time.Hour,
	} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				wheel := timer.New(timer.Config{})
				defer wheel.Close()
				start, elapsed := time.Now(), make(chan time.Duration, 2)
				wheel.After(wait, func() { elapsed <- time.Since(start) })
				got := <-elapsed
				if got < wait || got > wait+2*tick {
					t.Errorf("called after %v, want %v to 20 ms more", got, wait)
				}
			})
		})
	}
}

func TestAfterAcceptsAnyDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel := timer.New(timer.Config{})
		defer wheel.Close()
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

func TestStopPreventsTheCallOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel := timer.New(timer.Config{})
		defer wheel.Close()
		stopped := wheel.After(time.Second, func() { t.Error("the function of a stopped timer was called") })
		first, second := stopped.Stop(), stopped.Stop()
		if !first || second {
			t.Errorf("Stop = %v, then %v; want true, false", first, second)
		}
		called := wheel.After(time.Second, func() {})
		time.Sleep(time.Minute)
		if called.Stop() {
			t.Error("Stop after the call = true, want false")
		}
		if stats := wheel.Stats(); stats.Fired != 1 || stats.Stopped != 1 || stats.Pending != 0 {
			t.Errorf("stats %+v, want 1 fired, 1 stopped, 0 pending", stats)
		}
	})
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
