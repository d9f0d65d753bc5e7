package timer_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

func TestSetReplacesTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := timer.New(timer.Config{})
		defer w.Close()
		var own timer.Timer
		if own.Stop() {
			t.Error("Stop of a timer that was never set = true, want false")
		}
		start, took := time.Now(), make(chan time.Duration, 1)
		for range 100 {
			w.Set(&own, 3*time.Second, func() { t.Error("a replaced function was called") })
		}
		w.Set(&own, time.Minute, func() { took <- time.Since(start) })
		if got := <-took; got < time.Minute || got > time.Minute+2*tick {
			t.Errorf("called after %v, want a minute", got)
		}
		w.Set(&own, time.Second, func() { took <- time.Since(start) })
		<-took
		if s := w.Stats(); s.Fired != 2 || s.Stopped != 100 || s.Pending != 0 || own.Stop() {
			t.Errorf("stats %+v, want 2 fired, 100 stopped", s)
		}
	})
}

// Several goroutines set, stop and await the same timers. Each Set ends once:
// by its call, by a Stop, or by the next Set.
func TestSetsOfOneTimerExcludeEachOther(t *testing.T) {
	t.Parallel()
	w := timer.New(timer.Config{Workers: 3})
	t.Cleanup(w.Close)
	const setters, sets, timers = 4, 2000, 3
	var own [timers]timer.Timer
	var calls, stops atomic.Uint64
	var all sync.WaitGroup
	for range setters {
		all.Go(func() {
			for range sets {
				t := &own[rand.IntN(timers)]
				w.Set(t, time.Duration(rand.IntN(4)-1)*time.Millisecond, func() { calls.Add(1) })
				if rand.IntN(5) == 0 && own[rand.IntN(timers)].Stop() {
					stops.Add(1)
				}
			}
		})
	}
	all.Wait()
	for i := range own {
		own[i].Stop()
	}
	w.Close()
	s := w.Stats()
	if s.Fired != calls.Load() || s.Fired+s.Stopped != setters*sets || s.Stopped < stops.Load() || s.Pending != 0 || s.Waiting != 0 {
		t.Errorf("%d calls, %d stops, stats %+v; want %d in all", calls.Load(), stops.Load(), s, setters*sets)
	}
}

// Timers of one tick share a slot. An emptied slot is removed if it would
// otherwise stay for long.
func TestTimersOfATickShareASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := timer.New(timer.Config{})
		defer w.Close()
		for range 1000 {
			w.After(time.Hour, func() {})
		}
		if s := w.Stats(); s.Slots != 1 || s.Pending != 1000 {
			t.Errorf("stats %+v, want 1000 timers in 1 slot", s)
		}
		for i := range 1000 {
			w.After(2*time.Hour+time.Duration(i)*time.Second, func() { t.Error("a stopped timer called") }).Stop()
		}
		if s := w.Stats(); s.Slots != 1 {
			t.Errorf("%d slots, want 1 after the others were emptied", s.Slots)
		}
		for i := range 1000 {
			w.After(time.Duration(i+1)*time.Second/10, func() { t.Error("a stopped timer called") }).Stop()
		}
		if s := w.Stats(); s.Slots > 1+410 {
			t.Errorf("%d slots, want at most one per distinct tick of the stopped timers", s.Slots)
		}
		time.Sleep(time.Minute)
		if s := w.Stats(); s.Slots != 1 {
			t.Errorf("%d slots, want 1 after the ticks of the others have passed", s.Slots)
		}
		time.Sleep(time.Hour)
		if s := w.Stats(); s.Fired != 1000 || s.Slots != 0 || s.Late.Within[1] != 1000 {
			t.Errorf("stats %+v, want 1000 fired within two ticks", s)
		}
	})
}
