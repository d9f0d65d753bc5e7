package timer

import "sync"

const shards = 16

// registry knows every pending timer, so that a fresh wheel can take them over
// and Close can stop them: lists through the timers themselves, in shards so
// that adding and stopping seldom wait for each other.
type registry [shards]shard

type shard struct {
	mu   sync.Mutex
	head *Timer
	size int
	_    [40]byte // a cache line of its own
}

func (r *registry) add(t *Timer) {
	s := r.shard(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.next = s.head
	if s.head != nil {
		s.head.prev = t
	}
	s.head = t
	s.size++
}

func (r *registry) remove(t *Timer) {
	s := r.shard(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		s.head = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	s.size--
}

// all is a copy of what is pending now.
func (r *registry) all() []*Timer {
	timers := make([]*Timer, 0, r.size())
	for i := range r {
		s := &r[i]
		s.mu.Lock()
		for t := s.head; t != nil; t = t.next {
			timers = append(timers, t)
		}
		s.mu.Unlock()
	}
	return timers
}

func (r *registry) size() int {
	size := 0
	for i := range r {
		s := &r[i]
		s.mu.Lock()
		size += s.size
		s.mu.Unlock()
	}
	return size
}

// shard goes by the deadline: its microseconds are as good as random.
func (r *registry) shard(t *Timer) *shard {
	return &r[uint64(t.deadline)>>10%shards]
}
