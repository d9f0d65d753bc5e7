package timer_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

// All timers of a tick share one slot, and so one timer of the runtime.
func TestATickNeedsOneSlot(t *testing.T) {
	runWithWheel(t, func(t *testing.T, wheel *timer.Wheel) {
		var calls atomic.Int32
		for range 5000 {
			wheel.After(100*time.Second, func() { calls.Add(1) })
		}
		if slots := wheel.Stats().Slots; slots != 1 {
			t.Errorf("%d slots for 5000 timers of one tick, want 1", slots)
		}
		time.Sleep(101 * time.Second)
		synctest.Wait()
		if stats := wheel.Stats(); calls.Load() != 5000 || stats.Slots != 0 {
			t.Errorf("%d calls, stats %+v; want 5000, no slot", calls.Load(), stats)
		}
	})
}

// A slot ends with its last timer, however far away its tick is.
func TestASlotEndsWithItsLastTimer(t *testing.T) {
	runWithWheel(t, func(t *testing.T, wheel *timer.Wheel) {
		var calls atomic.Int32
		var moved timer.Timer
		for hours := range 10_000 {
			wheel.Set(&moved, time.Duration(hours)*time.Hour, func() { calls.Add(1) })
		}
		if slots := wheel.Stats().Slots; slots != 1 {
			t.Errorf("%d slots for one timer", slots)
		}
		if !moved.Stop() || wheel.Stats().Slots != 0 {
			t.Errorf("%+v after the last timer was stopped", wheel.Stats())
		}
		wheel.Set(&moved, time.Second, func() { calls.Add(1) })
		time.Sleep(2 * time.Second)
		if calls.Load() != 1 {
			t.Errorf("%d calls, want that of the last Set", calls.Load())
		}
	})
}

// Goroutines add, move and stop timers of the same ticks, and timers become due.
func TestConcurrentUseLosesNoTimer(t *testing.T) {
	runWithWheel(t, func(t *testing.T, wheel *timer.Wheel) {
		var ends atomic.Int32
		const adders, timers = 8, 500
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
		time.Sleep(2 * time.Second)
		stats := wheel.Stats()
		if ends.Load() != adders*timers || stats.Fired+stats.Stopped != adders*timers || stats.Pending+stats.Slots != 0 {
			t.Errorf("%d ends, stats %+v, want %d ends", ends.Load(), stats, adders*timers)
		}
	})
}
