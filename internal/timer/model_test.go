package timer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/timer"
)

// timerPlan is what a test does with one timer: it starts it startMS after the start of the test,
// with a wait of waitMS, and stops it stopAfterMS later.
type timerPlan struct{ startMS, waitMS, stopAfterMS int }

// outcome is what happened to one timer. elapsed is the time from its start to its call.
type outcome struct {
	calls   int
	elapsed time.Duration
	stopped bool
}

// stoppable is what time.Timer and timer.Timer share.
type stoppable interface{ Stop() bool }

// plans generates lists of timer plans.
var plans = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) timerPlan {
	return timerPlan{
		startMS:     rapid.IntRange(0, 20_000).Draw(t, "at"),
		waitMS:      rapid.IntRange(-5, 100_000).Draw(t, "wait"),
		stopAfterMS: rapid.IntRange(0, 120_000).Draw(t, "stop"),
	}
}), 1, 40)

// Every timer of the wheel must end like a timer of the Go runtime. But it may be called up to
// two ticks later, and a Stop may succeed in that time.
func TestWheelAgreesWithTheRuntime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		plans := plans.Draw(rt, "plans")
		var wheelOutcomes, runtimeOutcomes []outcome
		synctest.Test(t, func(*testing.T) {
			wheel := timer.New(timer.Config{Workers: 4})
			wheelOutcomes = runPlans(plans, func(wait time.Duration, fn func()) stoppable { return wheel.After(wait, fn) })
			wheel.Close()
		})
		synctest.Test(t, func(*testing.T) {
			runtimeOutcomes = runPlans(plans, func(wait time.Duration, fn func()) stoppable { return time.AfterFunc(wait, fn) })
		})
		for i, plan := range plans {
			compare(rt, plan, wheelOutcomes[i], runtimeOutcomes[i])
		}
	})
}

// runPlans executes the plans and returns how each timer ended.
func runPlans(plans []timerPlan, callAfter func(time.Duration, func()) stoppable) []outcome {
	outcomes := make([]outcome, len(plans))
	for i, plan := range plans {
		go func() {
			time.Sleep(time.Duration(plan.startMS) * time.Millisecond)
			start := time.Now()
			pending := callAfter(time.Duration(plan.waitMS)*time.Millisecond, func() {
				outcomes[i].calls++
				outcomes[i].elapsed = time.Since(start)
			})
			time.Sleep(time.Duration(plan.stopAfterMS) * time.Millisecond)
			outcomes[i].stopped = pending.Stop()
		}()
	}
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	return outcomes
}

func compare(t *rapid.T, plan timerPlan, wheelOutcome, runtimeOutcome outcome) {
	wait := time.Duration(max(plan.waitMS, 0)) * time.Millisecond
	if wheelOutcome.stopped == (wheelOutcome.calls == 1) || wheelOutcome.calls > 1 {
		t.Fatalf("%+v: called %d times, stopped %v", plan, wheelOutcome.calls, wheelOutcome.stopped)
	}
	if wheelOutcome.calls == 1 && (wheelOutcome.elapsed < wait || wheelOutcome.elapsed > wait+2*tick) {
		t.Fatalf("%+v: called after %v", plan, wheelOutcome.elapsed)
	}
	atTheEdge := (time.Duration(plan.stopAfterMS)*time.Millisecond - wait).Abs() <= 2*tick
	if wheelOutcome.stopped != runtimeOutcome.stopped && !atTheEdge {
		t.Fatalf("%+v: stopped %v, by the runtime %v", plan, wheelOutcome.stopped, runtimeOutcome.stopped)
	}
}
