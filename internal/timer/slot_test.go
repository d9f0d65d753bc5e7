package timer

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/RussellLuo/timingwheel"
)

// All timers of a tick share one entry of the library wheel, and so one wake-up.
func TestATickNeedsOneLibraryEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		library := new(faultyLibrary)
		wheel := newFaultyWheel(library)
		defer wheel.Close()
		var calls callCounter
		for range 5000 {
			calls.startTimer(wheel, 100*time.Second)
		}
		if entries := library.longAdds.Load(); entries != 1 {
			t.Errorf("%d entries for 5000 timers of one tick, want 1", entries)
		}
		time.Sleep(101 * time.Second)
		synctest.Wait()
		calls.check(t, 5000)
		if entries := library.longAdds.Load(); entries != 3 {
			t.Errorf("%d entries for a chain of three waits, want 3", entries)
		}
	})
}

// shiftedLibrary is a libraryWheel whose ticks end too early, as after a small forward step of the
// wall clock.
type shiftedLibrary struct {
	shift time.Duration // less than a tick
	adds  atomic.Int32
}

func (s *shiftedLibrary) AfterFunc(wait time.Duration, fn func()) *timingwheel.Timer {
	s.adds.Add(1)
	wall := time.Duration(time.Now().UnixNano()) + s.shift
	if due := (wall + wait).Truncate(tick); due > wall {
		time.AfterFunc(due-wall, fn)
	} else {
		go fn()
	}
	return new(timingwheel.Timer)
}

func (s *shiftedLibrary) Stop() {}

// A clock step that is too small for a replacement makes no call early and
// causes no busy loop.
func TestASmallClockStepCausesNoEarlyCall(t *testing.T) {
	t.Parallel()
	for shift := time.Millisecond; shift < tick; shift += 2 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			library := &shiftedLibrary{shift: shift}
			wheel := newWheel(Config{}, func() libraryWheel { return library })
			defer wheel.Close()
			var calls callCounter
			const timers = 300
			for i := range timers {
				calls.startTimer(wheel, time.Duration(7*i)*time.Millisecond)
			}
			time.Sleep(time.Minute)
			calls.check(t, timers)
			if stats := wheel.Stats(); stats.Late.Max > 2*tick+time.Millisecond || stats.Rebuilt != 0 {
				t.Errorf("shifted by %v: stats %+v, want calls within two ticks", shift, stats)
			}
			if adds := library.adds.Load(); adds > 2*timers+100 {
				t.Errorf("shifted by %v: %d entries for %d timers", shift, adds, timers)
			}
		})
	}
}
