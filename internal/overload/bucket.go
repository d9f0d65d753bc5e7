package overload

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucket is the token bucket of a key at this node. It is safe for concurrent use.
type bucket struct {
	tokens *rate.Limiter

	mu           sync.Mutex
	refusedUntil time.Time // until this time the shared store refuses demands that require refusedCost or more tokens
	refusedCost  int
	attempts     *attemptState // nil before the first attempt
}

func newBucket(limit, burst int, per time.Duration) *bucket {
	return &bucket{tokens: rate.NewLimiter(rate.Limit(float64(limit)/per.Seconds()), burst)}
}

// localDemand is a demand for tokens of the bucket at this node. It takes cost tokens if
// the bucket has at least required tokens.
type localDemand struct{ cost, required int }

// apply applies a demand to the bucket, in one step. It returns 0, or how long until the
// bucket has the required tokens.
func (b *bucket) apply(now time.Time, demand localDemand, mode Mode) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := b.timeUntil(now, demand.required)
	if mode == Charge || mode == Take && wait <= 0 {
		b.charge(now, demand.cost)
		return 0
	}
	return wait
}

// charge takes cost tokens. Missing tokens become a debt. The debt is at most the size of
// the bucket.
func (b *bucket) charge(now time.Time, cost int) {
	available := int(b.tokens.TokensAt(now)) + b.tokens.Burst()
	if cost = min(cost, available); cost > 0 {
		b.tokens.ReserveN(now, cost)
	}
}

// timeUntil returns how long until the bucket has cost tokens, 0 if it has them now.
func (b *bucket) timeUntil(now time.Time, cost int) time.Duration {
	missing := float64(cost) - b.tokens.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing/float64(b.tokens.Limit())*float64(time.Second)), 1)
}

// knownWait returns for how long a demand will be refused, as far as this node knows: by
// the last reply of the shared store, or by this bucket. It returns 0 if it is not refused.
func (b *bucket) knownWait(now time.Time, required int) time.Duration {
	b.mu.Lock()
	until, refusedCost := b.refusedUntil, b.refusedCost
	b.mu.Unlock()
	if required >= refusedCost && now.Before(until) {
		return until.Sub(now)
	}
	return b.timeUntil(now, required)
}

// applySharedWait applies the shared store's reply to this node's bucket. wait is the time
// until the store has the tokens, 0 if it has granted them.
func (b *bucket) applySharedWait(now time.Time, demand localDemand, wait time.Duration, mode Mode) {
	if mode == Charge {
		demand.required = 1 // the wait is for the next token
		b.charge(now, demand.cost)
	}
	switch {
	case wait > 0:
		b.mu.Lock()
		b.refusedUntil, b.refusedCost = now.Add(wait), demand.required
		b.mu.Unlock()
	case mode == Take:
		b.charge(now, demand.cost)
	}
}
