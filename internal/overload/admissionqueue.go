package overload

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
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
	duelUpdateInterval = 250 * time.Millisecond

	rateDecreaseFactor = 0.5
	rateIncreaseFactor = 1.25
	maxPerSecond       = 10_000 // a higher rate becomes +Inf
	maxAdmissionWait   = 4 * time.Second
	maxExclusiveRetry  = 20 * time.Second // up to this delay each client gets a different retry time; longer delays are random, up to twice this

	minHellosPerProcessor = 50 // admitted per second at any lag
)

func (q *admissionQueue) init() {
	q.perSecond, q.minPerSecond = math.Inf(1), float64(minHellosPerProcessor*runtime.GOMAXPROCS(0))
}

// reserve returns how long a new hello must wait for its admission. If ok is false, the
// hello is refused, and the client must retry after the wait. That time reserves no
// admission: another hello may be admitted then.
func (q *admissionQueue) reserve(now time.Time) (wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	interval := time.Duration(float64(time.Second) / q.perSecond)
	if wait = max(q.nextFreeAt.Sub(now), 0); wait <= maxAdmissionWait {
		q.nextFreeAt = now.Add(wait + interval)
		q.admitted++
		return wait, true
	}
	wait = max(q.lastRetryAt.Sub(now), maxAdmissionWait) + interval
	if wait > maxExclusiveRetry {
		return maxExclusiveRetry + rand.N(maxExclusiveRetry), false //nolint:gosec // a delay is no secret
	}
	q.lastRetryAt = now.Add(wait)
	return wait, false
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
		q.perSecond, q.nextFreeAt, q.lastRetryAt = math.Inf(1), time.Time{}, time.Time{}
	}
}
