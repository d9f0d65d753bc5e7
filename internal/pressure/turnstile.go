package pressure

import (
	"context"
	"math"
	"sync"
	"time"
)

// turnstile lets newcomers through: all of them at once while nothing waits, and at a
// rate that halves while goroutines do. Those who come meanwhile wait in turn. A hello
// weighs at once, so that a rate is what bounds it. It is safe for concurrent use.
type turnstile struct {
	least float64 // a second, whatever the lag

	mu      sync.Mutex
	rate    float64 // a second; +Inf: all at once
	next    time.Time
	through float64 // since adapt
}

const (
	slower    = 0.5
	faster    = 1.25
	unbounded = 10_000 // so many a second are any number
	patience  = 4 * time.Second
	later     = 2 // times as late as others who are refused come again who were for lack of room, since most of what a spike brings are these

	newcomersPerProcessor = 50 // a second
)

// take gives a newcomer a turn and says when that comes; false where it is too long
// until then.
func (t *turnstile) take(now time.Time) (wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !math.IsInf(t.rate, 1) {
		if t.next.Before(now) {
			t.next = now
		}
		if wait = t.next.Sub(now); wait > patience {
			return wait, false
		}
		t.next = t.next.Add(time.Duration(float64(time.Second) / t.rate))
	}
	t.through++
	return wait, true
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
		t.rate = math.Inf(1)
	}
}

// Await waits until it is a newcomer's turn to be welcomed, or refuses as Gauge.Refuse
// does: so many come that it would take too long, while goroutines wait.
func (r *Room) Await(ctx context.Context) error {
	wait, ok := r.turns.take(time.Now())
	switch {
	case !ok:
		return r.gauge.refuseFor(Entering, later*spread())
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
