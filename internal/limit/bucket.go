package limit

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucket is a key's at this node.
type bucket struct {
	tokens *rate.Limiter

	mu     sync.Mutex
	until  time.Time // no demand of cost or more was answered by the shared bucket before
	costly int
	held   int       // tokens that are taken, and may be given back
	right  []uint64  // hashes of the secrets that are vouched for, the newest last
	asked  time.Time // when the other nodes were asked for theirs
}

func newBucket(most, burst int, per time.Duration) *bucket {
	return &bucket{tokens: rate.NewLimiter(rate.Limit(float64(most)/per.Seconds()), burst)}
}

// demand does by the node's own bucket what the mode says, and gives how long
// until the tokens are there.
func (b *bucket) demand(now time.Time, cost int, mode Mode) time.Duration {
	switch mode {
	case Take:
		if b.tokens.AllowN(now, cost) {
			return 0
		}
	case Charge:
		b.charge(now, cost)
		return 0
	}
	return b.lacks(now, cost)
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
func (b *bucket) shut(now time.Time, cost int) time.Duration {
	b.mu.Lock()
	until, costly := b.until, b.costly
	b.mu.Unlock()
	if cost >= costly && now.Before(until) {
		return until.Sub(now)
	}
	return b.lacks(now, cost)
}

// heed remembers what the shared bucket said.
func (b *bucket) heed(now time.Time, cost int, wait time.Duration, mode Mode) {
	switch {
	case wait > 0:
		b.mu.Lock()
		b.until, b.costly = now.Add(wait), cost
		b.mu.Unlock()
	case mode != Ask:
		b.charge(now, cost)
	}
}

// hold takes a token that may be given back, and says how long until there is
// one, 0 where it was there, and Soon where it is held by somebody.
func (b *bucket) hold(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case now.Before(b.until):
		return max(b.until.Sub(now), Soon+1)
	case b.tokens.AllowN(now, 1):
		b.held++
		return 0
	case b.held > 0:
		return Soon
	}
	return max(b.lacks(now, 1), Soon+1)
}

// settle ends a hold: the token is spent, or given back.
func (b *bucket) settle(now time.Time, spent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
	if !spent {
		b.tokens.ReserveN(now, -1) // what is more than a bucket holds runs over when next looked at
	}
}

// hashes of secrets are of this process, so that nobody can find two alike.
var hashes = maphash.MakeSeed()

// vouch remembers a secret, in place of the oldest where there are too many, and
// says whether it was new.
func (b *bucket) vouch(secret string) bool {
	h := maphash.String(hashes, secret)
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.right, h) {
		return false
	}
	if len(b.right) == MostVouched {
		b.right = slices.Delete(b.right, 0, 1)
	}
	b.right = append(b.right, h)
	return true
}

func (b *bucket) vouches(secret string) bool {
	h := maphash.String(hashes, secret)
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.right, h)
}

// asks says whether it is time to ask the other nodes, who are then asked.
func (b *bucket) asks(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.asked) < hearsEvery {
		return false
	}
	b.asked = now
	return true
}
