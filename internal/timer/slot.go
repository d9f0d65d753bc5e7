package timer

import (
	"time"

	"github.com/RussellLuo/timingwheel"
)

// slot holds all timers that are due in one tick, in a list through the timers
// themselves. They share one library entry and one wake-up.
type slot struct {
	shard *shard
	tick  int64 // the slot is due at the end of this tick

	// Guarded by shard.mu.
	head       *Timer
	size       int
	due        bool               // true: the slot is due, and no timer is added any more
	generation uint32             // number of the generation that the slot runs on
	entry      *timingwheel.Timer // the newest library entry; removeIfEmpty frees it early

	nextDue *slot // next slot in the run queue; guarded by runQueue.mu
}

// dueTime returns when the slot is due, since wheel.startTime. No timer in it has a
// later deadline.
func (s *slot) end() time.Duration { return time.Duration(s.tick) * tick }

// link adds a timer that is in no slot. It returns false if another goroutine has
// put the timer into a slot first. The caller holds shard.mu.
func (s *slot) link(t *Timer, c call) bool {
	if !t.slot.CompareAndSwap(nil, s) {
		return false
	}
	t.f, t.deadline, t.next = c.f, c.deadline, s.head
	if s.head != nil {
		s.head.prev = t
	}
	s.head = t
	s.size++
	s.shard.pending++
	return true
}

// unlink removes a timer from the slot and returns its call. The caller holds
// shard.mu.
func (s *slot) unlink(t *Timer) call {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		s.head = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	c := call{t.f, t.deadline}
	t.f, t.prev, t.next = nil, nil, nil
	s.size--
	s.shard.pending--
	if s.due {
		s.shard.waiting--
	}
	t.slot.Store(nil) // last: after this, other goroutines may set the timer
	return c
}

// stop removes a timer from the slot and reports whether it was in the slot.
func (s *slot) stop(t *Timer) bool {
	st := s.shard
	st.mu.Lock()
	if t.slot.Load() != s {
		st.mu.Unlock()
		return false
	}
	s.unlink(t)
	st.stopped++
	entry := st.removeIfEmpty(s)
	st.mu.Unlock()
	if entry != nil {
		entry.Stop()
	}
	return true
}

// pop removes one timer and returns its call. hasMore reports whether more timers
// are left. ok is false if the slot was empty.
func (s *slot) pop() (c call, more, ok bool) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.head == nil {
		return c, false, false
	}
	c = s.unlink(s.head)
	return c, s.head != nil, true
}

// storeEntry stores the newest library entry of the slot. If the slot is retired,
// it stops the entry instead.
func (s *slot) keepEntry(entry *timingwheel.Timer) {
	st := s.shard
	st.mu.Lock()
	retired := st.slots[s.tick] != s
	if !retired {
		s.entry = entry
	}
	st.mu.Unlock()
	if retired {
		entry.Stop()
	}
}

// isRetired reports whether the slot no longer waits: it has become due, or it was
// removed because it was empty.
func (s *slot) isRetired() bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	return s.shard.slots[s.tick] != s
}

// setGeneration stores the number of the generation on which the slot runs. It
// returns false if the slot already runs there or is retired.
func (s *slot) assign(number uint32) bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.generation == number || s.shard.slots[s.tick] != s {
		return false
	}
	s.generation = number
	return true
}

// makeDue marks the slot as due and retires it. It returns false if the slot was
// retired before, or is empty.
func (s *slot) makeDue() bool {
	st := s.shard
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.slots[s.tick] != s {
		return false
	}
	delete(st.slots, s.tick)
	s.entry = nil
	if s.size == 0 {
		return false
	}
	s.due = true
	st.waiting += s.size
	return true
}

// stopAllLocked stops all timers in the slot. The caller holds shard.mu.
func (s *slot) stopAllLocked() {
	for s.head != nil {
		s.unlink(s.head)
		s.shard.stopped++
	}
}

// stopAll stops all timers in the slot.
func (s *slot) stopAll() {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	s.stopAllLocked()
}
