package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

// shardCount is the number of shards. Each has its own mutex, so that concurrent calls
// rarely wait for each other.
const shardCount = 16

// bucketTable holds the buckets of a rule's keys at this node. It is safe for concurrent
// use.
type bucketTable struct {
	seed   maphash.Seed
	shards [shardCount]shard
}

// shard stores a part of the keys in two generations. recentKeys holds the keys used since
// the last rotation, oldKeys the others. A rotation evicts the old keys and makes the
// recent keys the old ones. A rotation happens when all old buckets are full again, or
// when there are maxKeys recent keys.
//
// Example with an idleAfter of one hour: a key is used at 10:05. The rotation at 11:00 makes
// it an old key. The rotation at 12:00 evicts it.
type shard struct {
	maxKeys   int           // of one generation
	idleAfter time.Duration // after this time without use any bucket is full again
	onEvict   func(float64) // called with the number of keys that were evicted before their bucket was full

	mu         sync.Mutex
	recentKeys map[Key]*bucket
	oldKeys    map[Key]*bucket
	rotatedAt  time.Time
}

func newBucketTable(maxKeys int, idleAfter time.Duration, onEvict func(float64)) *bucketTable {
	table := &bucketTable{seed: maphash.MakeSeed()}
	for i := range table.shards {
		shard := &table.shards[i]
		shard.maxKeys, shard.idleAfter, shard.onEvict = max(maxKeys/shardCount/2, 1), idleAfter, onEvict
		shard.recentKeys, shard.rotatedAt = make(map[Key]*bucket), time.Now()
	}
	return table
}

// get returns a key's bucket, or a full one for a new key.
func (b *bucketTable) get(now time.Time, key Key, newBucket func() *bucket) *bucket {
	shard := &b.shards[maphash.Comparable(b.seed, key)%shardCount]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.rotateIfDue(now)
	if bucket := shard.recentKeys[key]; bucket != nil {
		return bucket
	}
	bucket := shard.oldKeys[key]
	if bucket == nil {
		bucket = newBucket()
	}
	delete(shard.oldKeys, key)
	if len(shard.recentKeys) >= shard.maxKeys {
		shard.rotateEarly(now)
	}
	shard.recentKeys[key] = bucket
	return bucket
}

// rotateIfDue evicts keys that were unused for at least idleAfter. The caller holds mu.
func (s *shard) rotateIfDue(now time.Time) {
	switch idle := now.Sub(s.rotatedAt); {
	case idle >= 2*s.idleAfter:
		s.recentKeys, s.oldKeys, s.rotatedAt = make(map[Key]*bucket), nil, now
	case idle >= s.idleAfter:
		s.oldKeys, s.recentKeys, s.rotatedAt = s.recentKeys, make(map[Key]*bucket), now
	}
}

// rotateEarly evicts the old keys before their buckets are full, because there are too many
// keys. The caller holds mu.
func (s *shard) rotateEarly(now time.Time) {
	s.onEvict(float64(len(s.oldKeys)))
	s.oldKeys, s.recentKeys, s.rotatedAt = s.recentKeys, make(map[Key]*bucket, s.maxKeys), now
}

// len returns how many keys are stored.
func (b *bucketTable) len() (n int) {
	for i := range b.shards {
		shard := &b.shards[i]
		shard.mu.Lock()
		shard.rotateIfDue(time.Now())
		n += len(shard.recentKeys) + len(shard.oldKeys)
		shard.mu.Unlock()
	}
	return n
}
