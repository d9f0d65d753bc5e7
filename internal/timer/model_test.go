package timer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/timer"
)

// timerPlan says what happens to one timer, in ms since the start.
type timerPlan struct{ at, wait, stop int }

// outcome is how one timer ended.
type outcome struct {
	calls   int
	elapsed time.Duration
	stopped bool
}

// stoppable is what time.Timer and timer.Timer share.
type stoppable interface{ Stop() bool }

var plans = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) timerPlan {
	return timerPlan{
		at:   rapid.IntRange(0, 20_000).Draw(t, "at"),
		wait: rapid.IntRange(-5, 100_000).Draw(t, "wait"),
		stop: rapid.IntRange(0, 120_000).Draw(t, "stop"),
	}
}), 1, 40)

// The runtime's timers are the reference. Every timer must end the same way,
// except for a call up to two ticks later and a Stop that succeeds in that
// time.
func TestWheelAgreesWithTheRuntime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		plans := plans.Draw(r, "plans")
		var ours, theirs []outcome
		synctest.Test(t, func(*testing.T) {
			w := timer.New(timer.Config{Workers: 4})
			ours = runPlans(plans, func(d time.Duration, f func()) stoppable { return w.After(d, f) })
			w.Close()
		})
		synctest.Test(t, func(*testing.T) {
			theirs = runPlans(plans, func(d time.Duration, f func()) stoppable { return time.AfterFunc(d, f) })
		})
		for i, p := range plans {
			compare(r, p, ours[i], theirs[i])
		}
	})
}

// runPlans executes the plans and returns how each timer ended.
func runPlans(plans []timerPlan, after func(time.Duration, func()) stoppable) []outcome {
	outcomes := make([]outcome, len(plans))
	for i, p := range plans {
		go func() {
			time.Sleep(time.Duration(p.at) * time.Millisecond)
			start := time.Now()
			pending := after(time.Duration(p.wait)*time.Millisecond, func() {
				outcomes[i].calls++
				outcomes[i].elapsed = time.Since(start)
			})
			time.Sleep(time.Duration(p.stop) * time.Millisecond)
			outcomes[i].stopped = pending.Stop()
		}()
	}
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	return outcomes
}

func compare(t *rapid.T, p timerPlan, ours, theirs outcome) {
	wait := time.Duration(max(p.wait, 0)) * time.Millisecond
	if ours.stopped == (ours.calls == 1) || ours.calls > 1 {
		t.Fatalf("%+v: called %d times, stopped %v", p, ours.calls, ours.stopped)
	}
	if ours.calls == 1 && (ours.elapsed < wait || ours.elapsed > wait+2*tick) {
		t.Fatalf("%+v: called after %v", p, ours.elapsed)
	}
	atTheEdge := (time.Duration(p.stop)*time.Millisecond - wait).Abs() <= 2*tick
	if ours.stopped != theirs.stopped && !atTheEdge {
		t.Fatalf("%+v: stopped %v, by the runtime %v", p, ours.stopped, theirs.stopped)
	}
}
