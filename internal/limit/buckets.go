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
type buckets struct {
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

	mu        sync.Mutex
	recent    map[Key]*bucket
	old       map[Key]*bucket
	rotatedAt time.Time
}

func newBuckets(keys int, idleAfter time.Duration, onEvict func(float64)) *buckets {
	b := &buckets{seed: maphash.MakeSeed()}
	for i := range b.shards {
		s := &b.shards[i]
		s.maxKeys, s.idleAfter, s.onEvict = max(keys/shardCount/2, 1), idleAfter, onEvict
		s.recent, s.rotatedAt = make(map[Key]*bucket), time.Now()
	}
	return b
}

// get returns a key's bucket, or a full one for a new key.
func (b *buckets) get(now time.Time, k Key, newFull func() *bucket) *bucket {
	s := &b.shards[maphash.Comparable(b.seed, k)%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotateIfDue(now)
	if found := s.recent[k]; found != nil {
		return found
	}
	found := s.old[k]
	if found == nil {
		found = newFull()
	}
	delete(s.old, k)
	if len(s.recent) >= s.maxKeys {
		s.rotate(now)
	}
	s.recent[k] = found
	return found
}

// rotateIfDue evicts keys that were unused for at least idleAfter. The caller holds mu.
func (s *shard) rotateIfDue(now time.Time) {
	switch idle := now.Sub(s.rotatedAt); {
	case idle >= 2*s.idleAfter:
		s.recent, s.old, s.rotatedAt = make(map[Key]*bucket), nil, now
	case idle >= s.idleAfter:
		s.old, s.recent, s.rotatedAt = s.recent, make(map[Key]*bucket), now
	}
}

// rotateEarly evicts the old keys before their buckets are full, because there are too many
// keys. The caller holds mu.
func (s *shard) rotate(now time.Time) {
	s.onEvict(float64(len(s.old)))
	s.old, s.recent, s.rotatedAt = s.recent, make(map[Key]*bucket, s.maxKeys), now
}

// len returns how many keys are stored.
func (b *buckets) len() (n int) {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		s.rotateIfDue(time.Now())
		n += len(s.recent) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
