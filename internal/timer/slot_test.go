package timer

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/RussellLuo/timingwheel"
)

// A tick needs one library call per entry and one wake-up, for any number of
// timers.
func TestATickIsOneEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := new(faultyLibrary)
		w := newFaultyWheel(first)
		defer w.Close()
		beats := func() int32 { return int32(w.current().beats.Load()) + 1 }
		var calls callCounter
		for range 5000 {
			calls.after(w, 100*time.Second)
		}
		if own := first.adds.Load() - beats(); own != 1 {
			t.Errorf("%d entries for 5000 timers of one tick, want 1", own)
		}
		time.Sleep(101 * time.Second)
		synctest.Wait()
		calls.check(t, 5000)
		if own := first.adds.Load() - beats(); own != 3 {
			t.Errorf("%d entries for a chain of three waits, want 3", own)
		}
	})
}

// shiftedLibrary works like the library, except that its ticks end too early,
// as after a forward step of the wall clock.
type shiftedLibrary struct {
	by   time.Duration // less than a tick
	adds atomic.Int32
}

func (s *shiftedLibrary) AfterFunc(d time.Duration, f func()) *timingwheel.Timer {
	s.adds.Add(1)
	wall := time.Duration(time.Now().UnixNano()) + s.by
	if due := (wall + d).Truncate(tick); due > wall {
		time.AfterFunc(due-wall, f)
	} else {
		go f()
	}
	return new(timingwheel.Timer)
}

func (s *shiftedLibrary) Stop() {}

// A clock step that is too small for a replacement makes no call early and
// causes no busy loop.
func TestTicksMayBeShifted(t *testing.T) {
	t.Parallel()
	for by := time.Millisecond; by < tick; by += 2 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			first := &shiftedLibrary{by: by}
			w := newWheel(Config{}, func() libraryWheel { return first })
			defer w.Close()
			var calls callCounter
			const timers = 300
			for i := range timers {
				calls.after(w, time.Duration(7*i)*time.Millisecond)
			}
			time.Sleep(time.Minute)
			calls.check(t, timers)
			if s := w.Stats(); s.Late.Max > 2*tick+time.Millisecond || s.Rebuilt != 0 {
				t.Errorf("shifted by %v: stats %+v, want calls within two ticks", by, s)
			}
			if adds := first.adds.Load(); adds > 2*timers+100 {
				t.Errorf("shifted by %v: %d entries for %d timers", by, adds, timers)
			}
		})
	}
}
