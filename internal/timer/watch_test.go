package timer

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/RussellLuo/timingwheel"
)

// faultyLibrary is a library wheel that works until its fault is set.
type faultyLibrary struct {
	libraryWheel
	fault     atomic.Int32
	adds      atomic.Int32
	longAdds  atomic.Int32  // adds of entries that wait longer than refreshInterval
	blockStop chan struct{} // if set, Stop waits until it is closed

	mu       sync.Mutex
	uncalled []func() // functions that the stuck wheel did not call
}

const (
	faultStuck  = 1 // calls no function any more
	faultJumped = 2 // calls each function immediately
)

func (f *faultyLibrary) AfterFunc(wait time.Duration, fn func()) *timingwheel.Timer {
	f.adds.Add(1)
	if wait > 2*refreshInterval {
		f.longAdds.Add(1)
	}
	if f.fault.Load() == faultJumped {
		go fn()
		return new(timingwheel.Timer)
	}
	return f.libraryWheel.AfterFunc(wait, func() {
		if f.fault.Load() != faultStuck {
			fn()
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.uncalled = append(f.uncalled, fn)
	})
}

// callUncalled calls, too late, the functions that the stuck wheel did not call.
func (f *faultyLibrary) callUncalled() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fn := range f.uncalled {
		go fn()
	}
}

func (f *faultyLibrary) Stop() {
	f.libraryWheel.Stop()
	if f.blockStop != nil {
		<-f.blockStop
	}
}

// newFaultyWheel returns a wheel whose first generation is faulty; later ones
// work.
func newFaultyWheel(first *faultyLibrary) *Wheel {
	first.libraryWheel = newLibraryWheel()
	builds := 0
	return newWheel(Config{}, func() libraryWheel {
		builds++
		if builds == 1 {
			return first
		}
		return newLibraryWheel()
	})
}

// callCounter counts calls and how many of them came early.
type callCounter struct{ calls, early atomic.Int32 }

func (c *callCounter) startTimer(wheel *Wheel, wait time.Duration) *Timer {
	start := time.Now()
	return wheel.After(wait, func() {
		c.calls.Add(1)
		if time.Since(start) < wait {
			c.early.Add(1)
		}
	})
}

func (c *callCounter) check(t *testing.T, calls int32) {
	t.Helper()
	if c.calls.Load() != calls || c.early.Load() != 0 {
		t.Errorf("%d calls, %d early; want %d, 0", c.calls.Load(), c.early.Load(), calls)
	}
}

func TestAStuckWheelIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		library := new(faultyLibrary)
		wheel := newFaultyWheel(library)
		defer wheel.Close()
		var calls callCounter
		for wait := time.Second; wait <= 100*time.Second; wait += time.Second {
			calls.startTimer(wheel, wait)
		}
		stopped := calls.startTimer(wheel, 30*time.Second)
		time.Sleep(10500 * time.Millisecond)
		calls.check(t, 10)

		library.fault.Store(faultStuck)
		time.Sleep(2 * time.Second)
		calls.check(t, 10)
		stopped.Stop()
		calls.startTimer(wheel, 3*time.Hour)
		time.Sleep(2 * time.Second)
		calls.check(t, 14)
		time.Sleep(5 * time.Second)
		calls.check(t, 19)
		if stats := wheel.Stats(); stats.Rebuilt != 1 {
			t.Errorf("stats %+v, want 1 rebuilt", stats)
		}

		library.fault.Store(0)
		library.callUncalled()
		time.Sleep(100 * time.Second)
		calls.check(t, 100)
		time.Sleep(3 * time.Hour)
		calls.check(t, 101)
		if stats := wheel.Stats(); stats.Rebuilt != 1 || stats.Pending != 0 {
			t.Errorf("stats %+v, want 1 rebuilt, 0 pending", stats)
		}
	})
}

// Neither a replacement of a deadlocked wheel nor Close waits for it forever.
func TestCloseDoesNotWaitForADeadlockedWheel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		library := &faultyLibrary{blockStop: make(chan struct{})}
		wheel := newFaultyWheel(library)
		library.fault.Store(faultStuck)
		var calls callCounter
		calls.startTimer(wheel, 2*time.Second)
		time.Sleep(8 * time.Second)
		calls.check(t, 1)
		start := time.Now()
		wheel.Close()
		if took := time.Since(start); took > maxStopWait {
			t.Errorf("Close took %v", took)
		}
		close(library.blockStop)
	})
}

// A library wheel whose time has jumped ahead calls each function immediately. This
// must cause neither early calls nor a busy loop.
func TestAJumpedWheelCallsNothingEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		library := new(faultyLibrary)
		wheel := newFaultyWheel(library)
		defer wheel.Close()
		library.fault.Store(faultJumped)
		var calls callCounter
		for i := range 100 {
			calls.startTimer(wheel, time.Second+time.Duration(i)*tick)
		}
		time.Sleep(900 * time.Millisecond)
		calls.check(t, 0)
		time.Sleep(time.Minute)
		calls.check(t, 100)
		if adds := library.adds.Load(); adds > 200 {
			t.Errorf("%d adds on the jumped wheel", adds)
		}
	})
}

func TestAWallClockStepReplacesTheGeneration(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, time.Hour, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			wheel := New(Config{})
			defer wheel.Close()
			wheel.mu.Lock()
			wheel.generation.startedWall = wheel.generation.startedWall.Add(-step)
			wheel.mu.Unlock()
			var calls callCounter
			calls.startTimer(wheel, time.Minute)
			time.Sleep(2 * time.Minute)
			calls.check(t, 1)
			if got, want := wheel.Stats().Rebuilt == 1, step > maxClockStep || step < -maxClockStep; got != want {
				t.Errorf("step %v: rebuilt %v, want %v", step, got, want)
			}
		})
	}
}

// Goroutines add and stop timers, and timers become due, while the wheel is
// replaced again and again.
func TestReplacementsLoseNoTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wheel := New(Config{})
		defer wheel.Close()
		var ends atomic.Int32
		const adders, timers = 4, 500
		for range adders {
			go func() {
				for i := range timers {
					pending := wheel.After(time.Duration(i%200)*time.Millisecond, func() { ends.Add(1) })
					if i%5 == 0 && pending.Stop() {
						ends.Add(1)
					}
					time.Sleep(time.Millisecond)
				}
			}()
		}
		for range 25 {
			wheel.replaceGeneration(wheel.currentGeneration())
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		stats := wheel.Stats()
		if ends.Load() != adders*timers || stats.Fired+stats.Stopped != adders*timers || stats.Rebuilt != 25 {
			t.Errorf("%d ends, stats %+v, want %d ends, 25 rebuilt", ends.Load(), stats, adders*timers)
		}
	})
}
