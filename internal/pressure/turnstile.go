package pressure

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// turnstile lets newcomers through: all of them at once while nothing waits, and at a
// rate that halves while goroutines do. Those who come meanwhile wait in turn; whom
// that would take too long are told to come again when there is likely a turn, since
// each who comes in vain costs what a turn does. A hello weighs at once, so that a rate is
// what bounds it. It is safe for concurrent use.
type turnstile struct {
	least float64 // a second, whatever the lag

	mu      sync.Mutex
	rate    float64   // a second; +Inf: all at once
	next    time.Time // turn
	booked  time.Time // up to which who comes again was told of an instant of their own
	through float64   // since adapt
}

const (
	slower    = 0.5
	faster    = 1.25
	unbounded = 10_000 // so many a second are any number
	patience  = 4 * time.Second
	farthest  = 20 * time.Second // up to which that is; beyond, up to twice as far

	wholly = 0.95 // so busy newcomers take turns before there is too much lag

	newcomersPerProcessor = 50 // a second
)

// take gives a newcomer a turn and says when that comes; false where it is too long
// until then, and he is to come again after that time.
func (t *turnstile) take(now time.Time) (wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if math.IsInf(t.rate, 1) {
		t.through++
		return 0, true
	}
	each := time.Duration(float64(time.Second) / t.rate)
	wait = max(t.next.Sub(now), 0)
	if wait > patience {
		return t.book(now, each), false
	}
	t.next = now.Add(wait + each)
	t.through++
	return wait, true
}

// book gives the next instant that nobody was told of, at the rate of turns; where that
// is too far, some instant beyond. Nobody else is kept from a turn for that.
func (t *turnstile) book(now time.Time, each time.Duration) time.Duration {
	wait := max(t.booked.Sub(now), patience) + each
	if wait > farthest {
		return farthest + rand.N(farthest) //nolint:gosec // a wait is no secret
	}
	t.booked = now.Add(wait)
	return wait
}

// adapt sets the rate, by whether goroutines wait.
func (t *turnstile) adapt(wait bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	came := t.through / lookEvery.Seconds()
	t.through = 0
	if wait {
		t.rate = max(slower*min(t.rate, came), t.least)
	} else if t.rate *= faster; t.rate > unbounded {
		t.rate, t.booked = math.Inf(1), time.Time{}
	}
}

// Await waits until it is a newcomer's turn to be welcomed, or refuses as Gauge.Refuse
// does: so many come that it would take too long, while goroutines wait.
func (r *Room) Await(ctx context.Context) error {
	wait, ok := r.turns.take(time.Now())
	switch {
	case !ok:
		return r.gauge.refuseFor(Entering, wait.Milliseconds())
	case wait == 0 || r.gauge.Trial:
		return nil
	}
	turn := time.NewTimer(wait)
	defer turn.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-turn.C:
		return nil
	}
}
