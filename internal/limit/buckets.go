package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

// shards divide the keys, so that those who ask at once seldom meet.
const shards = 16

// buckets are the keys' of a rule.
type buckets struct {
	seed   maphash.Seed
	shards [shards]shard
}

// shard holds keys in two generations: those that were asked for since the last
// turn, and those that were before it. A turn forgets the latter. It comes when
// all of them are full again, or else when the former are as many as may be.
type shard struct {
	most      int           // keys of a generation
	every     time.Duration // after which an idle bucket is full
	forgotten func(float64) // is told how many keys were forgotten before that

	mu     sync.Mutex
	young  map[Key]*bucket
	old    map[Key]*bucket
	turned time.Time
}

func newBuckets(keys int, every time.Duration, forgotten func(float64)) *buckets {
	b := &buckets{seed: maphash.MakeSeed()}
	for i := range b.shards {
		s := &b.shards[i]
		s.most, s.every, s.forgotten = max(keys/shards/2, 1), every, forgotten
		s.young, s.turned = make(map[Key]*bucket), time.Now()
	}
	return b
}

// of is a key's bucket, a full one where there is none.
func (b *buckets) of(now time.Time, k Key, full func() *bucket) *bucket {
	s := &b.shards[maphash.Comparable(b.seed, k)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnInTime(now)
	if found := s.young[k]; found != nil {
		return found
	}
	found := s.old[k]
	if found == nil {
		found = full()
	}
	delete(s.old, k)
	if len(s.young) >= s.most {
		s.turn(now)
	}
	s.young[k] = found
	return found
}

// turnInTime forgets who has been idle for long enough.
func (s *shard) turnInTime(now time.Time) {
	switch idle := now.Sub(s.turned); {
	case idle >= 2*s.every:
		s.young, s.old, s.turned = make(map[Key]*bucket), nil, now
	case idle >= s.every:
		s.old, s.young, s.turned = s.young, make(map[Key]*bucket), now
	}
}

// turn makes room before its time.
func (s *shard) turn(now time.Time) {
	s.forgotten(float64(len(s.old)))
	s.old, s.young, s.turned = s.young, make(map[Key]*bucket, s.most), now
}

// len is how many keys are remembered.
func (b *buckets) len() (n int) {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		s.turnInTime(time.Now())
		n += len(s.young) + len(s.old)
		s.mu.Unlock()
	}
	return n
}
