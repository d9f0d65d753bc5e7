package overload

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// bucketTable holds the token buckets of a rule's keys at this node. It evicts a key when
// its bucket is full again. If there are too many keys, it evicts the one that was not
// used for the longest time. It is safe for concurrent use.
type bucketTable struct {
	burst    int           // tokens of a full bucket
	interval time.Duration // in which a bucket gets one token
	onEvict  func()        // called for each key that is evicted before its bucket is full

	mu      sync.Mutex
	buckets *simplelru.LRU[Key, *bucket]
}

// bucket is the token bucket of a key. As in the shared store, it is only the time when it
// will be full (generic cell rate algorithm).
type bucket struct {
	fullAt time.Time
}

func newBucketTable(maxKeys int, config RuleConfig, onEvict func()) *bucketTable {
	buckets, err := simplelru.NewLRU[Key, *bucket](maxKeys, nil)
	if err != nil {
		panic(err) // maxKeys is not positive: a fault of the caller
	}
	return &bucketTable{burst: config.Burst, interval: config.tokenInterval(), onEvict: onEvict, buckets: buckets}
}

// apply applies a demand for cost tokens, which requires that the key's bucket has at least
// required tokens. It returns 0, or how long until it has them. Missing tokens of a Charge
// become a debt of at most a full bucket.
func (t *bucketTable) apply(key Key, cost, required int, mode Mode) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	found := t.get(now, key)
	wait := max(found.fullAt.Sub(now)-t.refillTime(t.burst-required), 0)
	if mode == Charge || mode == Take && wait == 0 {
		t.setRefill(found, now, found.fullAt.Sub(now)+t.refillTime(cost))
		return 0
	}
	return wait
}

// follow lowers a bucket to the level of the shared one, which will have required tokens
// after wait.
func (t *bucketTable) follow(key Key, required int, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	found := t.get(now, key)
	t.setRefill(found, now, max(found.fullAt.Sub(now), wait+t.refillTime(t.burst-required)))
}

// usedTokens returns how many tokens are missing in a bucket.
func (t *bucketTable) usedTokens(key Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	return int((t.get(now, key).fullAt.Sub(now) + t.interval - 1) / t.interval)
}

// len returns how many keys are stored.
func (t *bucketTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeFull(time.Now())
	return t.buckets.Len()
}

// get returns a key's bucket, or a full one for a new key. The caller holds mu.
func (t *bucketTable) get(now time.Time, key Key) *bucket {
	key.burst = 0
	found, ok := t.buckets.Get(key)
	if !ok {
		t.removeFull(now)
		found = new(bucket)
		if t.buckets.Add(key, found) {
			t.onEvict()
		}
	}
	if found.fullAt.Before(now) {
		found.fullAt = now
	}
	return found
}

// setRefill makes a bucket full after a time, at most that of the largest debt.
func (t *bucketTable) setRefill(b *bucket, now time.Time, after time.Duration) {
	b.fullAt = now.Add(min(after, 2*t.refillTime(t.burst)))
}

// refillTime returns the time in which a bucket gets so many tokens.
func (t *bucketTable) refillTime(tokens int) time.Duration { return time.Duration(tokens) * t.interval }

// removeFull evicts keys whose buckets are full again, the longest unused ones first. The
// caller holds mu.
func (t *bucketTable) removeFull(now time.Time) {
	for {
		_, oldest, ok := t.buckets.GetOldest()
		if !ok || oldest.fullAt.After(now) {
			return
		}
		t.buckets.RemoveOldest()
	}
}
