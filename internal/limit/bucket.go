package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucket is the bucket of a key at this node.
type bucket struct {
	tokens *rate.Limiter

	mu           sync.Mutex
	refusedUntil time.Time // the store has refused demands of refusedCost or more tokens until then
	refusedCost  int
	attempts     *attemptState // nil before the first attempt
}

func newBucket(limit, burst int, per time.Duration) *bucket {
	return &bucket{tokens: rate.NewLimiter(rate.Limit(float64(limit)/per.Seconds()), burst)}
}

// amount is a demand of a bucket: it takes cost tokens if the bucket has needed.
type amount struct{ cost, needed int }

// demand applies a demand to the node's own bucket. It returns 0, or how long until the
// tokens are there.
func (b *bucket) demand(now time.Time, a amount, mode Mode) time.Duration {
	switch mode {
	case Take:
		return b.take(now, a)
	case Charge:
		b.charge(now, a.cost)
		return 0
	}
	return b.timeUntil(now, a.needed)
}

// take checks and takes in one step.
func (b *bucket) take(now time.Time, a amount) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait := b.timeUntil(now, a.needed); wait > 0 {
		return wait
	}
	b.charge(now, a.cost)
	return 0
}

// charge takes tokens. Missing ones become a debt of at most a full bucket.
func (b *bucket) charge(now time.Time, cost int) {
	available := int(b.tokens.TokensAt(now)) + b.tokens.Burst()
	if cost = min(cost, available); cost > 0 {
		b.tokens.ReserveN(now, cost)
	}
}

// timeUntil returns how long until there are cost tokens, 0 if there are.
func (b *bucket) timeUntil(now time.Time, cost int) time.Duration {
	missing := float64(cost) - b.tokens.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing/float64(b.tokens.Limit())*float64(time.Second)), 1)
}

// knownWait returns how long the store, or this bucket, is known to refuse a demand.
func (b *bucket) knownWait(now time.Time, needed int) time.Duration {
	b.mu.Lock()
	until, costly := b.refusedUntil, b.refusedCost
	b.mu.Unlock()
	if needed >= costly && now.Before(until) {
		return until.Sub(now)
	}
	return b.timeUntil(now, needed)
}

// applySharedWait applies the store's answer to this node's bucket.
func (b *bucket) applySharedWait(now time.Time, a amount, wait time.Duration, mode Mode) {
	if mode == Charge {
		a.needed = 1 // the wait is for the next token
		b.charge(now, a.cost)
	}
	switch {
	case wait > 0:
		b.mu.Lock()
		b.refusedUntil, b.refusedCost = now.Add(wait), a.needed
		b.mu.Unlock()
	case mode == Take:
		b.charge(now, a.cost)
	}
}
