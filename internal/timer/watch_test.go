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
	blockStop chan struct{} // if set, Stop waits for it

	mu      sync.Mutex
	dropped []func() // functions that the stuck wheel did not call
}

const (
	stuck  = 1 // calls no function any more
	jumped = 2 // calls each function immediately
)

func (b *faultyLibrary) AfterFunc(d time.Duration, f func()) *timingwheel.Timer {
	b.adds.Add(1)
	if b.fault.Load() == jumped {
		go f()
		return new(timingwheel.Timer)
	}
	return b.libraryWheel.AfterFunc(d, func() {
		if b.fault.Load() != stuck {
			f()
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.dropped = append(b.dropped, f)
	})
}

// callDropped calls, too late, the functions that the stuck wheel did not call.
func (b *faultyLibrary) callDropped() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.dropped {
		go f()
	}
}

func (b *faultyLibrary) Stop() {
	b.libraryWheel.Stop()
	if b.blockStop != nil {
		<-b.blockStop
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

func (c *callCounter) after(w *Wheel, d time.Duration) *Timer {
	start := time.Now()
	return w.After(d, func() {
		c.calls.Add(1)
		if time.Since(start) < d {
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
		first := new(faultyLibrary)
		w := newFaultyWheel(first)
		defer w.Close()
		var calls callCounter
		for d := time.Second; d <= 100*time.Second; d += time.Second {
			calls.after(w, d)
		}
		gone := calls.after(w, 30*time.Second)
		time.Sleep(10500 * time.Millisecond)
		calls.check(t, 10)

		first.fault.Store(stuck)
		time.Sleep(4 * time.Second)
		calls.check(t, 10)
		gone.Stop()
		calls.after(w, 3*time.Hour)
		time.Sleep(5 * time.Second)
		calls.check(t, 19)
		if s := w.Stats(); s.Rebuilt != 1 || !w.Healthy() {
			t.Errorf("healthy %v, stats %+v, want 1 rebuilt", w.Healthy(), s)
		}

		first.fault.Store(0)
		first.callDropped()
		time.Sleep(100 * time.Second)
		calls.check(t, 100)
		time.Sleep(3 * time.Hour)
		calls.check(t, 101)
		if s := w.Stats(); s.Rebuilt != 1 || s.Pending != 0 {
			t.Errorf("stats %+v, want 1 rebuilt, 0 pending", s)
		}
	})
}

func TestHealthyReportsAStuckWheel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := new(faultyLibrary)
		w := newFaultyWheel(first)
		defer w.Close()
		first.fault.Store(stuck)
		sawIll := false
		for range 700 {
			time.Sleep(tick)
			sawIll = sawIll || !w.Healthy()
		}
		if w.Stats().Rebuilt != 1 || !w.Healthy() {
			t.Errorf("healthy %v, stats %+v, want 1 rebuilt", w.Healthy(), w.Stats())
		}
		if !sawIll {
			t.Error("Healthy never returned false without a heartbeat")
		}
	})
}

// Neither a replacement of a deadlocked wheel nor Close waits for it forever.
func TestADeadlockedWheelDoesNotBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := &faultyLibrary{blockStop: make(chan struct{})}
		w := newFaultyWheel(first)
		first.fault.Store(stuck)
		var calls callCounter
		calls.after(w, 2*time.Second)
		time.Sleep(8 * time.Second)
		calls.check(t, 1)
		start := time.Now()
		w.Close()
		if took := time.Since(start); took > stuckAfter {
			t.Errorf("Close took %v", took)
		}
		close(first.blockStop)
	})
}

// A library wheel whose time has jumped ahead calls each function immediately. This
// must cause neither early calls nor a busy loop.
func TestAJumpedWheelIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := new(faultyLibrary)
		w := newFaultyWheel(first)
		defer w.Close()
		first.fault.Store(jumped)
		var calls callCounter
		for i := range 100 {
			calls.after(w, time.Second+time.Duration(i)*tick)
		}
		time.Sleep(900 * time.Millisecond)
		calls.check(t, 0)
		time.Sleep(time.Minute)
		calls.check(t, 100)
		if adds := first.adds.Load(); adds > 200 {
			t.Errorf("%d adds on the jumped wheel", adds)
		}
		if s := w.Stats(); s.Rebuilt != 1 {
			t.Errorf("stats %+v, want 1 rebuilt", s)
		}
	})
}

func TestASteppedWallClockIsNoticed(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, time.Hour, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			w := New(Config{})
			defer w.Close()
			w.mu.Lock()
			w.generation.startedWall = w.generation.startedWall.Add(-step)
			w.mu.Unlock()
			var calls callCounter
			calls.after(w, time.Minute)
			time.Sleep(2 * time.Minute)
			calls.check(t, 1)
			if got, want := w.Stats().Rebuilt == 1, step > maxClockStep || step < -maxClockStep; got != want {
				t.Errorf("step %v: rebuilt %v, want %v", step, got, want)
			}
		})
	}
}

// Goroutines add and stop timers, and timers become due, while the wheel is
// replaced again and again.
func TestReplacingLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{})
		defer w.Close()
		var ends atomic.Int32
		const adders, timers = 4, 500
		for range adders {
			go func() {
				for i := range timers {
					own := w.After(time.Duration(i%200)*time.Millisecond, func() { ends.Add(1) })
					if i%5 == 0 && own.Stop() {
						ends.Add(1)
					}
					time.Sleep(time.Millisecond)
				}
			}()
		}
		for range 25 {
			w.current().requestReplacement()
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		s := w.Stats()
		if ends.Load() != adders*timers || s.Fired+s.Stopped != adders*timers || s.Rebuilt != 25 {
			t.Errorf("%d ends, stats %+v, want %d ends, 25 rebuilt", ends.Load(), s, adders*timers)
		}
	})
}
