package redisx

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// newRunningClock returns a clock that runs until the test ends, with a second clock; nil: none.
func (r *fakeReference) newRunningClock(t *testing.T, secondClock SecondClock) *Clock {
	t.Helper()
	clock, err := newClock(t.Context(), r.read, ClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	clock.SetSecondClock(secondClock)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- clock.Run(ctx) }() // waited for below
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return clock
}

// correctTime is a SecondClock that is always right.
func correctTime(context.Context) (int64, error) { return time.Now().UnixMilli(), nil }

// checkClocksAgree checks that two clocks are ready and differ by at most limit.
func checkClocksAgree(t *testing.T, first, second *Clock, limit time.Duration) {
	t.Helper()
	if difference := time.Duration(first.Now()-second.Now()) * time.Millisecond; difference.Abs() > limit || first.Ready(t.Context()) != nil || second.Ready(t.Context()) != nil {
		t.Errorf("two nodes are %s apart; ready: %v, %v", difference, first.Ready(t.Context()), second.Ready(t.Context()))
	}
}

// The reference is wrong while the first node starts, and right while the second starts. The
// two nodes never differ, with and without a second clock.
func TestANewNodeStartsFromTheTimeOfOthers(t *testing.T) {
	t.Parallel()
	for name, secondClock := range map[string]SecondClock{"without a second clock": nil, "with a second clock": correctTime} {
		for _, step := range []time.Duration{10 * time.Second, -10 * time.Second, 3 * time.Second, 24 * time.Hour} {
			t.Run(name+" "+step.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					reference := &fakeReference{skew: step, delayTo: time.Millisecond, delayFrom: time.Millisecond}
					first := reference.newRunningClock(t, secondClock)
					advance(20 * time.Second)
					reference.setSkew(0)
					for range 10 {
						advance(300 * time.Millisecond)
						checkClocksAgree(t, first, reference.newRunningClock(t, secondClock), 120*time.Millisecond)
					}
					second := reference.newRunningClock(t, secondClock)
					for range 20 {
						advance(10 * time.Second)
						checkClocksAgree(t, first, second, 120*time.Millisecond)
					}
				})
			})
		}
	}
}

// The reference steps as soon as the first node has started, before its next reading.
func TestANewNodeStartsFromTheTimeOfOneThatHasJustStarted(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{10 * time.Second, -10 * time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			reference := &fakeReference{skew: step, delayTo: time.Millisecond, delayFrom: time.Millisecond}
			first := reference.newRunningClock(t, correctTime)
			reference.setSkew(0)
			checkClocksAgree(t, first, reference.newRunningClock(t, correctTime), 120*time.Millisecond)
		})
	}
}

// Nodes do not follow a large step of the master's clock while the database's clock disagrees.
// They agree with each other, and with the master when its clock is right again.
func TestALargeStepNeedsASecondClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{24 * time.Hour, -24 * time.Hour, 10 * time.Second} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
				first, second := reference.newRunningClock(t, correctTime), reference.newRunningClock(t, correctTime)
				advance(time.Minute)
				reference.setSkew(step)
				for range 10 {
					advance(time.Minute)
					checkClocksAgree(t, first, second, 10*time.Millisecond)
				}
				if offsetMS := first.Now() - time.Now().UnixMilli(); offsetMS > 10 || offsetMS < -10 {
					t.Errorf("cluster time is off by %d ms", offsetMS)
				}
				if difference := time.Duration(first.ignoredStep.Load()) - step; difference.Abs() > 10*time.Millisecond {
					t.Errorf("the ignored step is %s", time.Duration(first.ignoredStep.Load()))
				}
				checkClocksAgree(t, first, reference.newRunningClock(t, correctTime), 120*time.Millisecond)
				reference.setSkew(0)
				advance(2 * time.Second)
				if offsetMS := reference.aheadMS(first); offsetMS > 2 || offsetMS < -2 || first.ignoredStep.Load() != 0 {
					t.Errorf("cluster time is off by %d ms after the reference is right again", offsetMS)
				}
			})
		})
	}
}

// Cluster time follows a step that the database's clock confirms: this machine slept,
// or Redis was wrong before.
func TestAConfirmedStepIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
		clock := reference.newRunningClock(t, func(context.Context) (int64, error) { return reference.now() / int64(time.Millisecond), nil })
		advance(time.Minute)
		reference.setSkew(time.Hour)
		advance(2 * time.Second)
		if offsetMS := reference.aheadMS(clock); offsetMS > 2 || offsetMS < -2 {
			t.Errorf("cluster time is off by %d ms", offsetMS)
		}
	})
}

// The reference steps back, and a busy node publishes its time again only after two
// seconds. A node that starts in between waits for that and starts at the same time.
func TestANewNodeWaitsForTheRecordAfterAStepBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reference := &fakeReference{}
		clusterTime := func() int64 { return time.Now().Add(10 * time.Second).UnixNano() }
		reference.record = record{clusterTime: clusterTime(), refTime: clusterTime()}
		advance(time.Second)
		go func() {
			time.Sleep(2 * time.Second)
			reference.mu.Lock()
			defer reference.mu.Unlock()
			reference.record = record{clusterTime: clusterTime(), refTime: time.Now().UnixNano()}
		}()
		c := reference.newRunningClock(t, correctTime)
		if apart := time.Duration(c.Now())*time.Millisecond - time.Duration(clusterTime()); apart.Abs() > 300*time.Millisecond {
			t.Errorf("the new node is %s from the busy one", apart)
		}
	})
}

// Records of nodes that ended long ago do not count.
func TestAnOldRecordIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reference := &fakeReference{}
		now := reference.now()
		reference.record = record{clusterTime: now - int64(time.Hour), refTime: now - int64(2*time.Hour)}
		startedAt := time.Now()
		clock := reference.newRunningClock(t, nil)
		if offsetMS := reference.aheadMS(clock); offsetMS != 0 || time.Since(startedAt) > 2*recordWait {
			t.Errorf("cluster time is off by %d ms after %s", offsetMS, time.Since(startedAt))
		}
	})
}
