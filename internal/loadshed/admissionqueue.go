package loadshed

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// admissionQueue spaces out new hellos while goroutines wait for a processor. Without
// lag it admits all at once. With lag it admits them at a rate that halves at each
// update. A hello waits up to maxWait for its turn. One that would wait longer is
// refused and gets a retry time with a good chance of admission, since a refused hello
// costs as much as an admitted one. It is safe for concurrent use.
//
// Example with a rate of 10 per second and 150 hellos at once: 41 get turns within 4 s.
// The next one is told to retry after 4.1 s, the one after it after 4.2 s, and so on.
type admissionQueue struct {
	minRate float64 // per second, whatever the lag

	mu       sync.Mutex
	rate     float64   // per second; +Inf admits all at once
	next     time.Time // when the next turn is free
	promised time.Time // the last retry time given to one client alone
	admitted float64   // hellos admitted since the last adapt
}

const (
	rateDecrease  = 0.5
	rateIncrease  = 1.25
	unlimitedRate = 10_000 // a higher rate per second counts as +Inf
	maxWait       = 4 * time.Second
	maxPromise    = 20 * time.Second // retry times of single clients end here; later ones are random, up to twice as far

	highBusy = 0.95 // share of the processors in use from which on hellos are queued before there is much lag

	minHellosPerProcessor = 50 // per second
)

// reserve returns how long the caller must wait for its turn. If ok is false, the wait
// is too long, and the client must retry after it.
func (q *admissionQueue) reserve(now time.Time) (wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if math.IsInf(q.rate, 1) {
		q.admitted++
		return 0, true
	}
	interval := time.Duration(float64(time.Second) / q.rate)
	wait = max(q.next.Sub(now), 0)
	if wait > maxWait {
		return q.promiseRetry(now, interval), false
	}
	q.next = now.Add(wait + interval)
	q.admitted++
	return wait, true
}

// promiseRetry returns the next retry time that no client has been given, one interval
// after the last. If that is too far, it returns a random time beyond. Other clients
// are not kept from a turn at that time.
func (q *admissionQueue) promiseRetry(now time.Time, interval time.Duration) time.Duration {
	wait := max(q.promised.Sub(now), maxWait) + interval
	if wait > maxPromise {
		return maxPromise + rand.N(maxPromise) //nolint:gosec // a delay is no secret
	}
	q.promised = now.Add(wait)
	return wait
}

// adapt sets the rate, by whether the node is overloaded.
func (q *admissionQueue) adapt(overloaded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	perSecond := q.admitted / duelUpdateEvery.Seconds()
	q.admitted = 0
	if overloaded {
		q.rate = max(rateDecrease*min(q.rate, perSecond), q.minRate)
	} else if q.rate *= rateIncrease; q.rate > unlimitedRate {
		q.rate, q.promised = math.Inf(1), time.Time{}
	}
}

// AwaitHello waits for the turn of a new hello, or refuses it as Shedder.Check does if
// the wait would be too long.
func (d *DuelLimit) AwaitHello(ctx context.Context) error {
	wait, ok := d.admissions.reserve(time.Now())
	switch {
	case !ok:
		return d.shedder.refuseFor(NewSessions, wait.Milliseconds())
	case wait == 0 || d.shedder.DryRun:
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
