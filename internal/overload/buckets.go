package overload

import (
	"sync"
	"time"
)

// bucketTable holds the buckets of a rule's keys at this node, in two generations.
// recentKeys holds the keys used since the last rotation, oldKeys the others. A rotation
// evicts the old keys and makes the recent keys the old ones. A rotation happens when all
// old buckets are full again, or when there are maxKeys recent keys. It is safe for
// concurrent use.
//
// Example with an idleAfter of one hour: a key is used at 10:05. The rotation at 11:00 makes
// it an old key. The rotation at 12:00 evicts it.
type bucketTable struct {
	maxKeys   int           // of one generation
	idleAfter time.Duration // after this time without use any bucket is full again
	onEvict   func(float64) // called with the number of keys that were evicted before their bucket was full

	mu         sync.Mutex
	recentKeys map[Key]*bucket
	oldKeys    map[Key]*bucket
	rotatedAt  time.Time
}

func newBucketTable(maxKeys int, idleAfter time.Duration, onEvict func(float64)) *bucketTable {
	return &bucketTable{
		maxKeys: max(maxKeys/2, 1), idleAfter: idleAfter, onEvict: onEvict,
		recentKeys: make(map[Key]*bucket), rotatedAt: time.Now(),
	}
}

// get returns a key's bucket, or a full one for a new key.
func (t *bucketTable) get(now time.Time, key Key, newBucket func() *bucket) *bucket {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotateIfDue(now)
	if bucket := t.recentKeys[key]; bucket != nil {
		return bucket
	}
	bucket := t.oldKeys[key]
	if bucket == nil {
		bucket = newBucket()
	}
	delete(t.oldKeys, key)
	if len(t.recentKeys) >= t.maxKeys { // too many keys: evict the old ones before their buckets are full
		t.onEvict(float64(len(t.oldKeys)))
		t.rotate(now)
	}
	t.recentKeys[key] = bucket
	return bucket
}

// rotateIfDue evicts keys that were unused for at least idleAfter. The caller holds mu.
func (t *bucketTable) rotateIfDue(now time.Time) {
	idle := now.Sub(t.rotatedAt)
	if idle >= 2*t.idleAfter {
		t.recentKeys = nil
	}
	if idle >= t.idleAfter {
		t.rotate(now)
	}
}

// rotate evicts the old keys and makes the recent keys the old ones. The caller holds mu.
func (t *bucketTable) rotate(now time.Time) {
	t.oldKeys, t.recentKeys, t.rotatedAt = t.recentKeys, make(map[Key]*bucket), now
}

// len returns how many keys are stored.
func (t *bucketTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotateIfDue(time.Now())
	return len(t.recentKeys) + len(t.oldKeys)
}
