package timer_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/timer"
)

func TestSetReplacesTheCall(t *testing.T) {
	runWithWheel(t, func(t *testing.T, wheel *timer.Wheel) {
		var reused timer.Timer
		if reused.Stop() {
			t.Error("Stop of a timer that was never set = true, want false")
		}
		start, elapsed := time.Now(), make(chan time.Duration, 1)
		for range 100 {
			wheel.Set(&reused, 3*time.Second, func() { t.Error("a replaced function was called") })
		}
		wheel.Set(&reused, time.Minute, func() { elapsed <- time.Since(start) })
		if got := <-elapsed; got < time.Minute || got > time.Minute+2*tick {
			t.Errorf("called after %v, want a minute", got)
		}
		wheel.Set(&reused, time.Second, func() { elapsed <- time.Since(start) })
		<-elapsed
		if stats := wheel.Stats(); stats.Fired != 2 || stats.Stopped != 100 || stats.Pending != 0 || reused.Stop() {
			t.Errorf("stats %+v, want 2 fired, 100 stopped", stats)
		}
	})
}

// Several goroutines set and stop the same timers. Each Set ends once:
// by its call, by a Stop, or by the next Set.
func TestSetsOfOneTimerExcludeEachOther(t *testing.T) {
	t.Parallel()
	wheel := timer.New(timer.Config{Workers: 3})
	t.Cleanup(wheel.Close)
	const setters, sets, timers = 4, 2000, 3
	var shared [timers]timer.Timer
	var calls, stops atomic.Uint64
	var setterGroup sync.WaitGroup
	for range setters {
		setterGroup.Go(func() {
			for range sets {
				target := &shared[rand.IntN(timers)]
				wheel.Set(target, time.Duration(rand.IntN(4)-1)*time.Millisecond, func() { calls.Add(1) })
				if rand.IntN(5) == 0 && shared[rand.IntN(timers)].Stop() {
					stops.Add(1)
				}
			}
		})
	}
	setterGroup.Wait()
	for i := range shared {
		shared[i].Stop()
	}
	wheel.Close()
	stats := wheel.Stats()
	if stats.Fired != calls.Load() || stats.Fired+stats.Stopped != setters*sets || stats.Stopped < stops.Load() || stats.Pending != 0 || stats.Waiting != 0 {
		t.Errorf("%d calls, %d stops, stats %+v; want %d in total", calls.Load(), stops.Load(), stats, setters*sets)
	}
}
