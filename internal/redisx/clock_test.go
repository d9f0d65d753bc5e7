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
		there, back time.Duration
		off         int64
	}{
		"no delay":     {0, 0, 0},
		"even delays":  {20 * time.Millisecond, 20 * time.Millisecond, 0},
		"slow request": {40 * time.Millisecond, 0, 20},
		"slow reply":   {0, 40 * time.Millisecond, -20},
	}
	for name, tt := range tests {
		for _, skew := range []time.Duration{0, -time.Hour, 24 * time.Hour} {
			reference := &fakeReference{skew: skew, delayTo: tt.there, delayFrom: tt.back}
			synctest.Test(t, func(t *testing.T) {
				c, err := newClock(t.Context(), reference.read, ClockConfig{})
				if err != nil {
					t.Fatal(err)
				}
				if off := reference.aheadOf(c); off != tt.off {
					t.Errorf("%s, %s: off by %d ms, want %d", name, skew, off, tt.off)
				}
				if err := c.Ready(t.Context()); err != nil {
					t.Errorf("%s, %s: %v", name, skew, err)
				}
			})
		}
	}
}

func TestClockStepsForwardToAReferenceAhead(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
	runVirtual(t, reference, func(t *testing.T, c *Clock) {
		advance(time.Minute)
		reference.setSkew(time.Second)
		advance(readInterval * 5 / 4)
		if off := reference.aheadOf(c); off != 0 {
			t.Errorf("off by %d ms after a reading", off)
		}
	})
}

func TestClockRunsSlowerForAReferenceBehind(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
	runVirtual(t, reference, func(t *testing.T, c *Clock) {
		advance(time.Minute)
		reference.setSkew(-time.Second)
		advance(readInterval * 5 / 4)
		before := c.Now()
		for range 50 {
			advance(100 * time.Millisecond)
			now := c.Now()
			if elapsed := now - before; elapsed < 89 || elapsed > 91 {
				t.Errorf("cluster time advanced by %d ms in 100 ms, want 90", elapsed)
			}
			before = now
		}
		if off := reference.aheadOf(c); off < 350 || off > 550 {
			t.Errorf("ahead by %d ms half-way", off)
		}
		advance(6 * time.Second)
		if off := reference.aheadOf(c); off != 0 {
			t.Errorf("off by %d ms in the end", off)
		}
	})
}

// Two masters with different clocks answer alternately, as happens while clients disagree about
// the master.
func TestClockWithAnAlternatingReference(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: 3 * time.Millisecond}
	runVirtual(t, reference, func(t *testing.T, c *Clock) {
		startedAt, last, lastAt := time.Now(), c.Now(), time.Now()
		for range 200 {
			reference.setSkew(time.Duration(rand.IntN(3)-1) * time.Second)
			advance(rand.N(5 * time.Second))
			now := c.Now()
			if now-last < time.Since(lastAt).Milliseconds()*9/10-1 {
				t.Fatalf("cluster time advanced by %d ms in %s", now-last, time.Since(lastAt))
			}
			last, lastAt = now, time.Now()
			if least := startedAt.Add(-time.Second - 10*time.Millisecond).Add(time.Since(startedAt)).UnixMilli(); now < least || now > least+2020 {
				t.Fatalf("at %d, outside of %d and 2 s more", now, least)
			}
		}
		reference.setSkew(0)
		advance(15 * time.Second)
		if off := reference.aheadOf(c); off < -2 || off > 2 {
			t.Errorf("off by %d ms after the reference stays the same", off)
		}
	})
}

func TestClockKeepsTheBestReading(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: time.Millisecond, delayFrom: time.Millisecond}
	runVirtual(t, reference, func(t *testing.T, c *Clock) {
		advance(time.Minute)
		reference.set(func(reference *fakeReference) { reference.delayTo = 180 * time.Millisecond })
		advance(3 * time.Second)
		if off := reference.aheadOf(c); off != 0 {
			t.Errorf("off by %d ms after some slow readings", off)
		}
		advance(time.Minute)
		if off := reference.aheadOf(c); off < 0 || off > 91 {
			t.Errorf("off by %d ms after only slow readings, more than half of their round trip", off)
		}
		if err := c.Ready(t.Context()); err != nil {
			t.Errorf("uncertain by 90.5 ms: %v", err)
		}
	})
}

func TestClockThatIsUncertainIsNotReady(t *testing.T) {
	t.Parallel()
	reference := &fakeReference{delayTo: 150 * time.Millisecond, delayFrom: 150 * time.Millisecond}
	runVirtual(t, reference, func(t *testing.T, c *Clock) {
		for range 2 {
			if err := c.Ready(t.Context()); !errors.Is(err, ErrClock) || !strings.Contains(err.Error(), "slow") {
				t.Errorf("uncertain by 150 ms: %v", err)
			}
			advance(time.Minute)
		}
		reference.set(func(reference *fakeReference) { reference.delayTo = time.Millisecond })
		advance(2 * time.Second)
		if err := c.Ready(t.Context()); err != nil {
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
			runVirtual(t, reference, func(t *testing.T, c *Clock) {
				advance(time.Minute)
				reference.set(fail)
				advance(28 * time.Second)
				if err := c.Ready(t.Context()); err != nil {
					t.Errorf("after 28 s: %v", err)
				}
				advance(3 * time.Second)
				if err := c.Ready(t.Context()); !errors.Is(err, ErrClock) || !strings.Contains(err.Error(), "reachable") {
					t.Errorf("after 31 s: %v", err)
				}
				advance(time.Hour)
				if off := reference.aheadOf(c); off != 0 {
					t.Errorf("off by %d ms after an hour without the reference", off)
				}
				reference.set(func(reference *fakeReference) { reference.isSilent, reference.err = false, nil })
				advance(3 * time.Second)
				if err := c.Ready(t.Context()); err != nil {
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
		c, err := newClock(t.Context(), reference.read, ClockConfig{})
		if err != nil {
			t.Fatal(err)
		}
		reference.setSkew(-time.Second)
		localTime := c.localTime()
		oldReading := reading{sent: localTime, received: localTime, refTime: reference.now()}
		advance(5 * time.Second)
		before := c.Now()
		c.applyReading(oldReading)
		if now := c.Now(); now != before {
			t.Errorf("%d after %d", now, before)
		}
		advance(5 * time.Second)
		if off := reference.aheadOf(c); off != 0 {
			t.Errorf("off by %d ms in the end", off)
		}
	})
}

// A call that starts after another has returned gets no earlier time, while the
// reference steps at random.
func TestClockNeverGoesBackAcrossCallers(t *testing.T) {
	t.Parallel()
	c, err := newClock(t.Context(), (&fakeReference{}).read, ClockConfig{})
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
				now := c.Now()
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
		at := c.localTime()
		c.applyReading(reading{sent: at, received: at, refTime: time.Now().UnixNano() + rand.Int64N(2e8) - 1e8})
	}
	done.Store(true)
	callers.Wait()
}
