package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucket is a key's at this node.
type bucket struct {
	tokens *rate.Limiter

	mu      sync.Mutex
	until   time.Time // no demand that needs as many or more was answered by the shared bucket before
	costly  int
	guessed *guessed // nil where nobody has guessed
}

func newBucket(most, burst int, per time.Duration) *bucket {
	return &bucket{tokens: rate.NewLimiter(rate.Limit(float64(most)/per.Seconds()), burst)}
}

// amount is what is asked of a bucket: cost tokens, if needed are there.
type amount struct{ cost, needed int }

// demand does by the node's own bucket what the mode says, and gives how long
// until the tokens are there.
func (b *bucket) demand(now time.Time, a amount, mode Mode) time.Duration {
	switch mode {
	case Take:
		return b.take(now, a)
	case Charge:
		b.charge(now, a.cost)
		return 0
	}
	return b.lacks(now, a.needed)
}

// take looks and takes in one step, where no other take comes between.
func (b *bucket) take(now time.Time, a amount) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait := b.lacks(now, a.needed); wait > 0 {
		return wait
	}
	b.charge(now, a.cost)
	return 0
}

// charge takes tokens, those that are not there from the future, up to a whole
// bucket.
func (b *bucket) charge(now time.Time, cost int) {
	left := int(b.tokens.TokensAt(now)) + b.tokens.Burst()
	if cost = min(cost, left); cost > 0 {
		b.tokens.ReserveN(now, cost)
	}
}

// lacks is how long until there are tokens, 0 where they are there.
func (b *bucket) lacks(now time.Time, cost int) time.Duration {
	missing := float64(cost) - b.tokens.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing/float64(b.tokens.Limit())*float64(time.Second)), 1)
}

// shut is how long the shared bucket is known to refuse such a demand.
func (b *bucket) shut(now time.Time, needed int) time.Duration {
	b.mu.Lock()
	until, costly := b.until, b.costly
	b.mu.Unlock()
	if needed >= costly && now.Before(until) {
		return until.Sub(now)
	}
	return b.lacks(now, needed)
}

// heed remembers what the shared bucket said.
func (b *bucket) heed(now time.Time, a amount, wait time.Duration, mode Mode) {
	if mode == Charge {
		a.needed = 1 // the wait is for the next token
		b.charge(now, a.cost)
	}
	switch {
	case wait > 0:
		b.mu.Lock()
		b.until, b.costly = now.Add(wait), a.needed
		b.mu.Unlock()
	case mode == Take:
		b.charge(now, a.cost)
	}
}
