package overload

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucket is the token bucket of a key at this node. It is safe for concurrent use.
type bucket struct {
	mu       sync.Mutex
	parts    *rate.Limiter // counts parts of tokens
	attempts chan struct{} // has an element while an attempt of a FailureLimiter runs; nil before the first one
	usedAt   time.Time     // bucketTable guards it
}

// partsPerToken is the precision with which a bucket can follow the shared one.
const partsPerToken = 1_000_000

func newBucket(config RuleConfig) *bucket {
	perSecond := float64(config.Limit) / config.Per.Seconds()
	return &bucket{parts: rate.NewLimiter(rate.Limit(perSecond*partsPerToken), config.Burst*partsPerToken)}
}

// apply applies a demand for cost tokens, which requires that the bucket has at least
// required tokens. It returns 0, or how long until it has them.
func (b *bucket) apply(now time.Time, cost, required int, mode Mode) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := b.timeUntil(now, required)
	if mode == Charge || mode == Take && wait == 0 {
		b.remove(now, float64(cost)*partsPerToken)
		return 0
	}
	return wait
}

// follow lowers the bucket to the level of the shared one, which will have required tokens
// after wait.
func (b *bucket) follow(now time.Time, required int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	level := float64(required)*partsPerToken - float64(b.parts.Limit())*wait.Seconds()
	b.remove(now, b.parts.TokensAt(now)-level)
}

// remove removes parts. Missing ones become a debt of at most the size of the bucket. The
// caller holds mu.
func (b *bucket) remove(now time.Time, parts float64) {
	size := b.parts.Burst()
	remaining := int(min(parts, b.parts.TokensAt(now)+float64(size)))
	for ; remaining > 0; remaining -= size { // a reservation is at most the size of the bucket
		b.parts.ReserveN(now, min(remaining, size))
	}
}

// tokens returns how many tokens the bucket has, negative for a debt.
func (b *bucket) tokens(now time.Time) float64 { return b.parts.TokensAt(now) / partsPerToken }

// timeUntil returns how long until the bucket has cost tokens, 0 if it has them now.
func (b *bucket) timeUntil(now time.Time, cost int) time.Duration {
	missing := float64(cost)*partsPerToken - b.parts.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing/float64(b.parts.Limit())*float64(time.Second)), 1)
}

// attemptSlot returns the channel in which a running attempt has an element.
func (b *bucket) attemptSlot() chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.attempts == nil {
		b.attempts = make(chan struct{}, 1)
	}
	return b.attempts
}
