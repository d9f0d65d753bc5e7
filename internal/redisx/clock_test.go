package redisx

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestClockIsCorrectFromTheStart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		delayTo, delayFrom time.Duration
		wantOffsetMS       int64
	}{
		"no delay":     {0, 0, 0},
		"even delays":  {20 * time.Millisecond, 20 * time.Millisecond, 0},
		"slow request": {40 * time.Millisecond, 0, 20},
		"slow reply":   {0, 40 * time.Millisecond, -20},
	}
	for name, tt := range tests {
		for _, skew := range []time.Duration{0, -time.Hour, 24 * time.Hour} {
			reference := &fakeReference{skew: skew, delayTo: tt.delayTo, delayFrom: tt.delayFrom}
			synctest.Test(t, func(t *testing.T) {
				clock, err := newClock(t.Context(), reference.read, ClockConfig{})
				if err != nil {
					t.Fatal(err)
				}
				if offsetMS := reference.aheadMS(clock); offsetMS != tt.wantOffsetMS {
					t.Errorf("%s, %s: off by %d ms, want %d", name, skew, offsetMS, tt.wantOffsetMS)
				}
				if err := clock.Ready(t.Context()); err != nil {
					t.Errorf("%s, %s: %v", name, skew, err)
				}
			})
		}
	}
}

func TestClockStepsForwardToAReferenceAhead(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
	runClockInVirtualTime(t, reference, func(t *testing.T, clock *Clock) {
		advance(time.Minute)
		reference.setSkew(time.Second)
		advance(readInterval * 5 / 4)
		if offsetMS := reference.aheadMS(clock); offsetMS != 0 {
			t.Errorf("off by %d ms after a reading", offsetMS)
		}
	})
}

func TestClockRunsSlowerForAReferenceBehind(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
	runClockInVirtualTime(t, reference, func(t *testing.T, clock *Clock) {
		advance(time.Minute)
		reference.setSkew(-time.Second)
		advance(readInterval * 5 / 4)
		before := clock.Now()
		for range 50 {
			advance(100 * time.Millisecond)
			now := clock.Now()
			if elapsed := now - before; elapsed < 89 || elapsed > 91 {
				t.Errorf("cluster time advanced by %d ms in 100 ms, want 90", elapsed)
			}
			before = now
		}
		if offsetMS := reference.aheadMS(clock); offsetMS < 350 || offsetMS > 550 {
			t.Errorf("ahead by %d ms half-way", offsetMS)
		}
		advance(6 * time.Second)
		if offsetMS := reference.aheadMS(clock); offsetMS != 0 {
			t.Errorf("off by %d ms in the end", offsetMS)
		}
	})
}

// Two masters with different clocks answer alternately, as happens while clients disagree about
// the master.
func TestClockNeverGoesBackWithAnAlternatingReference(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: 3 * time.Millisecond}
	runClockInVirtualTime(t, reference, func(t *testing.T, clock *Clock) {
		startedAt, last, lastAt := time.Now(), clock.Now(), time.Now()
		for range 200 {
			reference.setSkew(time.Duration(rand.IntN(3)-1) * time.Second)
			advance(rand.N(5 * time.Second))
			now := clock.Now()
			if now-last < time.Since(lastAt).Milliseconds()*9/10-1 {
				t.Fatalf("cluster time advanced by %d ms in %s", now-last, time.Since(lastAt))
			}
			last, lastAt = now, time.Now()
			if minNow := startedAt.Add(-time.Second - 10*time.Millisecond).Add(time.Since(startedAt)).UnixMilli(); now < minNow || now > minNow+2020 {
				t.Fatalf("at %d, outside of %d and 2 s more", now, minNow)
			}
		}
		reference.setSkew(0)
		advance(15 * time.Second)
		if offsetMS := reference.aheadMS(clock); offsetMS < -2 || offsetMS > 2 {
			t.Errorf("off by %d ms after the reference stays the same", offsetMS)
		}
	})
}

func TestClockKeepsTheBestReading(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
	runClockInVirtualTime(t, reference, func(t *testing.T, clock *Clock) {
		advance(time.Minute)
		reference.set(func(reference *fakeReference) { reference.delayTo = 180 * time.Millisecond })
		advance(3 * time.Second)
		if offsetMS := reference.aheadMS(clock); offsetMS != 0 {
			t.Errorf("off by %d ms after some slow readings", offsetMS)
		}
		advance(time.Minute)
		if offsetMS := reference.aheadMS(clock); offsetMS < 0 || offsetMS > 91 {
			t.Errorf("off by %d ms after only slow readings, more than half of their round trip", offsetMS)
		}
		if err := clock.Ready(t.Context()); err != nil {
			t.Errorf("uncertain by 90.5 ms: %v", err)
		}
	})
}

func TestClockThatIsUncertainIsNotReady(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: 150 * time.Millisecond, delayFrom: 150 * time.Millisecond}
	runClockInVirtualTime(t, reference, func(t *testing.T, clock *Clock) {
		for range 2 {
			if err := clock.Ready(t.Context()); !errors.Is(err, ErrClock) || !strings.Contains(err.Error(), "slow") {
				t.Errorf("uncertain by 150 ms: %v", err)
			}
			advance(time.Minute)
		}
		reference.set(func(reference *fakeReference) { reference.delayTo = time.Millisecond })
		advance(2 * time.Second)
		if err := clock.Ready(t.Context()); err != nil {
			t.Errorf("uncertain by 75 ms: %v", err)
		}
	})
}

func TestClockContinuesWithoutItsReference(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*fakeReference){
		"silent":  func(reference *fakeReference) { reference.isSilent = true },
		"refused": func(reference *fakeReference) { reference.err = errRefused },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
			runClockInVirtualTime(t, reference, func(t *testing.T, clock *Clock) {
				advance(time.Minute)
				reference.set(fail)
				advance(28 * time.Second)
				if err := clock.Ready(t.Context()); err != nil {
					t.Errorf("after 28 s: %v", err)
				}
				advance(3 * time.Second)
				if err := clock.Ready(t.Context()); !errors.Is(err, ErrClock) || !strings.Contains(err.Error(), "reachable") {
					t.Errorf("after 31 s: %v", err)
				}
				advance(time.Hour)
				if offsetMS := reference.aheadMS(clock); offsetMS != 0 {
					t.Errorf("off by %d ms after an hour without the reference", offsetMS)
				}
				reference.set(func(reference *fakeReference) { reference.isSilent, reference.err = false, nil })
				advance(3 * time.Second)
				if err := clock.Ready(t.Context()); err != nil {
					t.Errorf("after the reference answers again: %v", err)
				}
			})
		})
	}
}

func TestClockNeedsAFirstReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reference := &fakeReference{err: errRefused}
		go func() {
			time.Sleep(3 * time.Second)
			reference.set(func(reference *fakeReference) { reference.err = nil })
		}()
		if _, err := newClock(t.Context(), reference.read, ClockConfig{}); err != nil {
			t.Errorf("a reference that answers after 3 s: %v", err)
		}

		reference.set(func(reference *fakeReference) { reference.err = errRefused })
		startedAt := time.Now()
		_, err := newClock(t.Context(), reference.read, ClockConfig{})
		if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "start it") {
			t.Errorf("a reference that refuses: %v", err)
		}
		if waited := time.Since(startedAt); waited != openTimeout {
			t.Errorf("gave up after %s", waited)
		}

		reference.set(func(reference *fakeReference) { reference.err, reference.isSilent = nil, true })
		if _, err := newClock(t.Context(), reference.read, ClockConfig{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a silent reference: %v", err)
		}

		reference.set(func(reference *fakeReference) { reference.err = errRefused })
		go func() {
			time.Sleep(openTimeout - 300*time.Millisecond)
			reference.set(func(reference *fakeReference) { reference.err = nil })
		}()
		if _, err := newClock(t.Context(), reference.read, ClockConfig{}); !errors.Is(err, errRefused) {
			t.Errorf("a reference that refuses almost to the timeout: %v, want errRefused", err)
		}
	})
}

// A process may pause between receiving a reading and applying it, while other
// callers read the clock.
func TestClockNeverGoesBackAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reference := &fakeReference{}
		clock, err := newClock(t.Context(), reference.read, ClockConfig{})
		if err != nil {
			t.Fatal(err)
		}
		reference.setSkew(-time.Second)
		localTime := clock.localTime()
		oldReading := reading{sent: localTime, received: localTime, refTime: reference.now()}
		advance(5 * time.Second)
		before := clock.Now()
		clock.applyReading(oldReading)
		if now := clock.Now(); now != before {
			t.Errorf("%d after %d", now, before)
		}
		advance(5 * time.Second)
		if offsetMS := reference.aheadMS(clock); offsetMS != 0 {
			t.Errorf("off by %d ms in the end", offsetMS)
		}
	})
}

// A call that starts after another has returned gets no earlier time, while the
// reference steps at random.
func TestClockNeverGoesBackAcrossCallers(t *testing.T) {
	t.Parallel()
	clock, err := newClock(t.Context(), (&fakeReference{}).read, ClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	var latest atomic.Int64
	var done atomic.Bool
	for range 4 {
		callers.Go(func() {
			for !done.Load() {
				before := latest.Load()
				now := clock.Now()
				if now < before {
					t.Errorf("%d after %d", now, before)
					return
				}
				for now > before && !latest.CompareAndSwap(before, now) {
					before = latest.Load()
				}
			}
		})
	}
	for range 20_000 {
		localTime := clock.localTime()
		clock.applyReading(reading{sent: localTime, received: localTime, refTime: time.Now().UnixNano() + rand.Int64N(2e8) - 1e8})
	}
	done.Store(true)
	callers.Wait()
}
