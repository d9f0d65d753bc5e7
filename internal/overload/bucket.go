package overload

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"laststand/internal/timer"
)

// BucketConfig configures buckets: a full one has Burst tokens, and one that is not full gets a token
// each Interval.
type BucketConfig struct {
	Burst    int
	Interval time.Duration
}

// refillTime returns the time in which a bucket gets so many tokens.
func (c BucketConfig) refillTime(tokens int) time.Duration { return time.Duration(tokens) * c.Interval }

// Bucket is a token bucket. As in the shared store, it is only the time when it will be full (generic
// cell rate algorithm). It is not safe for concurrent use. In its methods, now is from timer.SinceStart.
type Bucket struct{ fullAt time.Duration }

// NewBucket returns a full bucket.
func NewBucket(now time.Duration) Bucket { return Bucket{now} }

// Wait returns how long until the bucket has so many tokens; 0 means that it has them.
func (b *Bucket) Wait(now time.Duration, c BucketConfig, tokens int) time.Duration {
	return max(b.fullAt-now-c.refillTime(c.Burst-tokens), 0)
}

// Charge takes tokens. Missing ones become a debt of at most a full bucket.
func (b *Bucket) Charge(now time.Duration, c BucketConfig, tokens int) {
	b.fullAt = now + min(max(b.fullAt-now, 0)+c.refillTime(tokens), 2*c.refillTime(c.Burst))
}

// Missing returns how many tokens the bucket lacks until it is full.
func (b *Bucket) Missing(now time.Duration, c BucketConfig) int {
	return int((max(b.fullAt-now, 0) + c.Interval - 1) / c.Interval)
}

// bucketTable holds the token buckets of a rule's keys at this node. It evicts a key when
// its bucket is full again. If there are too many keys, it evicts the one that was not
// used for the longest time. It is safe for concurrent use.
type bucketTable struct {
	BucketConfig
	onEvict func() // called for each key that is evicted before its bucket is full

	mu      sync.Mutex
	buckets *simplelru.LRU[Key, *Bucket]
}

func newBucketTable(maxKeys int, config BucketConfig, onEvict func()) *bucketTable {
	buckets, err := simplelru.NewLRU[Key, *Bucket](maxKeys, nil)
	if err != nil {
		panic(err) // maxKeys is not positive: a fault of the caller
	}
	return &bucketTable{BucketConfig: config, onEvict: onEvict, buckets: buckets}
}

// apply applies a demand for cost tokens, which requires that the key's bucket has at least
// required tokens. It returns 0, or how long until it has them. Missing tokens of a Charge
// become a debt of at most a full bucket.
func (t *bucketTable) apply(key Key, cost, required int, mode Mode) (wait time.Duration) {
	t.update(key, func(now time.Duration, bucket *Bucket) {
		wait = bucket.Wait(now, t.BucketConfig, required)
		if mode == Charge || mode == Take && wait == 0 {
			bucket.Charge(now, t.BucketConfig, cost)
			wait = 0
		}
	})
	return wait
}

// follow lowers a bucket to the level of the shared one, which will have required tokens
// after wait.
func (t *bucketTable) follow(key Key, required int, wait time.Duration) {
	t.update(key, func(now time.Duration, bucket *Bucket) {
		shared := min(wait+t.refillTime(t.Burst-required), 2*t.refillTime(t.Burst))
		bucket.fullAt = max(bucket.fullAt, now+shared)
	})
}

// usedTokens returns how many tokens are missing in a bucket.
func (t *bucketTable) usedTokens(key Key) (missing int) {
	t.update(key, func(now time.Duration, bucket *Bucket) { missing = bucket.Missing(now, t.BucketConfig) })
	return missing
}

// len returns how many keys are stored.
func (t *bucketTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeFull(timer.SinceStart())
	return t.buckets.Len()
}

// update calls change with a key's bucket, which is full for a new key.
func (t *bucketTable) update(key Key, change func(now time.Duration, bucket *Bucket)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := timer.SinceStart()
	key.burst = 0
	found, ok := t.buckets.Get(key)
	if !ok {
		t.removeFull(now)
		found = &Bucket{now}
		if t.buckets.Add(key, found) {
			t.onEvict()
		}
	}
	change(now, found)
}

// removeFull evicts keys whose buckets are full again, the longest unused ones first. The
// caller holds mu.
func (t *bucketTable) removeFull(now time.Duration) {
	for {
		_, oldest, ok := t.buckets.GetOldest()
		if !ok || oldest.fullAt > now {
			return
		}
		t.buckets.RemoveOldest()
	}
}
