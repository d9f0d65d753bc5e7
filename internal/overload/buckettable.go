package overload

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// bucketTable holds the buckets of a rule's keys at this node. It evicts a key when its
// bucket must be full again. If there are too many keys, it evicts the one that was not
// used for the longest time. It is safe for concurrent use.
type bucketTable struct {
	idleAfter time.Duration // after this time without use any bucket is full again
	onEvict   func()        // called for each key that is evicted before its bucket is full

	mu      sync.Mutex
	buckets *simplelru.LRU[Key, *bucket]
}

func newBucketTable(maxKeys int, idleAfter time.Duration, onEvict func()) *bucketTable {
	buckets, err := simplelru.NewLRU[Key, *bucket](maxKeys, nil)
	if err != nil {
		panic(err) // maxKeys is not positive: a fault of the caller
	}
	return &bucketTable{idleAfter: idleAfter, onEvict: onEvict, buckets: buckets}
}

// get returns a key's bucket, or a new one for a new key.
func (t *bucketTable) get(now time.Time, key Key, config RuleConfig) *bucket {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.buckets.Get(key)
	if !ok {
		t.removeIdle(now)
		found = newBucket(config)
		if t.buckets.Add(key, found) {
			t.onEvict()
		}
	}
	found.usedAt = now
	return found
}

// removeIdle evicts the keys whose buckets are full again. The caller holds mu.
func (t *bucketTable) removeIdle(now time.Time) {
	for _, oldest, ok := t.buckets.GetOldest(); ok && now.Sub(oldest.usedAt) >= t.idleAfter; _, oldest, ok = t.buckets.GetOldest() {
		t.buckets.RemoveOldest()
	}
}

// len returns how many keys are stored.
func (t *bucketTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeIdle(time.Now())
	return t.buckets.Len()
}
