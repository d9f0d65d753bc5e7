package redisx

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// newRunningClock returns a clock that runs until the test ends, with a second clock; nil: none.
func (r *fakeReference) newRunningClock(t *testing.T, w SecondClock) *Clock {
	t.Helper()
	c, err := newClock(t.Context(), r.read, ClockConfig{recordStore: r.storeRecord})
	if err != nil {
		t.Fatal(err)
	}
	c.SetSecondClock(w)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }() // waited for below
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// correctTime is a SecondClock that is always right.
func correctTime(context.Context) (int64, error) { return time.Now().UnixMilli(), nil }

// checkApart checks that two clocks are ready and differ by at most limit.
func checkApart(t *testing.T, a, b *Clock, limit time.Duration) {
	t.Helper()
	if d := time.Duration(a.Now()-b.Now()) * time.Millisecond; d.Abs() > limit || a.Ready(t.Context()) != nil || b.Ready(t.Context()) != nil {
		t.Errorf("two nodes are %s apart; ready: %v, %v", d, a.Ready(t.Context()), b.Ready(t.Context()))
	}
}

// The reference is wrong while the first node starts, and right while the second starts. The
// two nodes never differ, with and without a second clock.
func TestANewNodeStartsFromTheTimeOfOthers(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]SecondClock{"without a second clock": nil, "with a second clock": correctTime} {
		for _, step := range []time.Duration{10 * time.Second, -10 * time.Second, 3 * time.Second, 24 * time.Hour} {
			t.Run(name+" "+step.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					reference := &fakeReference{skew: step, delayTo: time.Millisecond, delayFrom: time.Millisecond}
					first := reference.newRunningClock(t, w)
					advance(20 * time.Second)
					reference.setSkew(0)
					for range 10 {
						advance(300 * time.Millisecond)
						checkApart(t, first, reference.newRunningClock(t, w), 120*time.Millisecond)
					}
					second := reference.newRunningClock(t, w)
					for range 20 {
						advance(10 * time.Second)
						checkApart(t, first, second, 120*time.Millisecond)
					}
				})
			})
		}
	}
}

// Nodes do not follow a large step of the master's clock while the database's clock disagrees.
// They agree with each other, and with the master when its clock is right again.
func TestALargeStepNeedsASecondClock(t *testing.T) {
	t.Parallel()
	for _, leap := range []time.Duration{24 * time.Hour, -24 * time.Hour, 10 * time.Second} {
		t.Run(leap.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
				a, b := reference.newRunningClock(t, correctTime), reference.newRunningClock(t, correctTime)
				advance(time.Minute)
				reference.setSkew(leap)
				for range 10 {
					advance(time.Minute)
					checkApart(t, a, b, 10*time.Millisecond)
				}
				if off := a.Now() - time.Now().UnixMilli(); off > 10 || off < -10 {
					t.Errorf("cluster time is off by %d ms", off)
				}
				if held := time.Duration(a.ignoredStep.Load()) - leap; held.Abs() > 10*time.Millisecond {
					t.Errorf("the ignored step is %s", time.Duration(a.ignoredStep.Load()))
				}
				checkApart(t, a, reference.newRunningClock(t, correctTime), 120*time.Millisecond)
				reference.setSkew(0)
				advance(2 * time.Second)
				if off := reference.aheadOf(a); off > 2 || off < -2 || a.ignoredStep.Load() != 0 {
					t.Errorf("cluster time is off by %d ms after the reference is right again", off)
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
		c := reference.newRunningClock(t, func(context.Context) (int64, error) { return reference.now() / int64(time.Millisecond), nil })
		advance(time.Minute)
		reference.setSkew(time.Hour)
		advance(2 * time.Second)
		if off := reference.aheadOf(c); off > 2 || off < -2 {
			t.Errorf("cluster time is off by %d ms", off)
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
		c := reference.newRunningClock(t, nil)
		if off := reference.aheadOf(c); off != 0 || time.Since(startedAt) > 2*recordWait {
			t.Errorf("cluster time is off by %d ms after %s", off, time.Since(startedAt))
		}
	})
}
