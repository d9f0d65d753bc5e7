package overload

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"laststand/internal/loop"
)

// admissionQueue admits new hellos one after the other while the scheduler lag is high.
// Without lag it admits all immediately. With lag it admits a number per second, which
// halves at each update. A hello waits up to maxAdmissionWait for its admission. The queue
// refuses a hello that would wait longer. It gives the client a retry time that other
// clients do not get, since another refusal would cost as much as an admission. It is safe
// for concurrent use.
//
// Example with 10 per second and 150 hellos at the same time: 41 are admitted within 4 s.
// The next one is refused and retries after 4.1 s, the one after it after 4.2 s, and so
// on.
type admissionQueue struct {
	minPerSecond float64 // lowest value of perSecond

	mu          sync.Mutex
	perSecond   float64   // hellos admitted per second; +Inf admits all immediately
	nextFreeAt  time.Time // earliest time at which another hello can be admitted
	lastRetryAt time.Time // the last retry time given to a single client
	admitted    float64   // hellos admitted since the last adaptRate
}

const (
	rateDecreaseFactor = 0.5
	rateIncreaseFactor = 1.25
	maxPerSecond       = 10_000 // a higher perSecond becomes +Inf
	maxAdmissionWait   = 4 * time.Second
	maxExclusiveRetry  = 20 * time.Second // up to this delay each client gets a different retry time; longer delays are random, up to twice this

	highBusy = 0.95 // from this share of processor use on, half of the maximum lag is enough to queue hellos

	minHellosPerProcessor = 50 // admitted per second at any lag
)

// reserve returns how long a new hello must wait for its admission. If ok is false, the
// hello is refused, and the client must retry after the wait.
func (q *admissionQueue) reserve(now time.Time) (wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if math.IsInf(q.perSecond, 1) {
		q.admitted++
		return 0, true
	}
	interval := time.Duration(float64(time.Second) / q.perSecond)
	wait = max(q.nextFreeAt.Sub(now), 0)
	if wait > maxAdmissionWait {
		return q.nextRetry(now, interval), false
	}
	q.nextFreeAt = now.Add(wait + interval)
	q.admitted++
	return wait, true
}

// nextRetry returns the delay until a refused client should retry: one interval after the
// retry time of the last refused client. If that is more than maxExclusiveRetry from now,
// it returns a random longer delay. The retry time reserves no admission: another hello
// may be admitted at that time.
func (q *admissionQueue) nextRetry(now time.Time, interval time.Duration) time.Duration {
	wait := max(q.lastRetryAt.Sub(now), maxAdmissionWait) + interval
	if wait > maxExclusiveRetry {
		return maxExclusiveRetry + rand.N(maxExclusiveRetry) //nolint:gosec // a delay is no secret
	}
	q.lastRetryAt = now.Add(wait)
	return wait
}

// adaptRate changes perSecond after each update interval: down if the node is overloaded,
// up if not.
func (q *admissionQueue) adaptRate(overloaded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	admittedPerSecond := q.admitted / duelUpdateInterval.Seconds()
	q.admitted = 0
	if overloaded {
		q.perSecond = max(rateDecreaseFactor*min(q.perSecond, admittedPerSecond), q.minPerSecond)
	} else if q.perSecond *= rateIncreaseFactor; q.perSecond > maxPerSecond {
		q.perSecond, q.lastRetryAt = math.Inf(1), time.Time{}
	}
}

// AwaitHello waits until a new hello is admitted. If the wait would be too long, it
// returns a refusal with a retry time, as Shedder.Check does. It returns ctx.Err if ctx
// ends first.
func (d *DuelLimit) AwaitHello(ctx context.Context) error {
	wait, ok := d.admissions.reserve(time.Now())
	switch {
	case !ok:
		return d.shedder.refuseFor(NewSessions, wait.Milliseconds())
	case wait > 0 && !d.shedder.DryRun && !loop.Sleep(ctx, wait):
		return ctx.Err()
	}
	return nil
}
