package timer

import (
	"time"

	"github.com/RussellLuo/timingwheel"
)

// slot is all timers that are due in one tick, in a list through the timers
// themselves. They share one entry of the library's wheel, and one wake-up.
type slot struct {
	shard *shard
	tick  int64 // it is due at the end of this one

	// guarded by stripe.mu
	head       *Timer
	size       int
	due        bool               // it was woken: no timer is added any more
	generation uint32             // of the movement that it runs on
	entry      *timingwheel.Timer // the newest, to free it early

	nextDue *slot // among those that are due; guarded by rota.mu
}

// end is when the slot is due: not before any of its timers.
func (s *slot) end() time.Duration { return time.Duration(s.tick) * tick }

// link puts t, which waits for nothing, into the slot. It reports false if
// somebody else was faster to set the same timer. The caller holds stripe.mu.
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

// unlink takes t out of the slot. The caller holds stripe.mu.
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
	t.slot.Store(nil) // the last: from here on others may set it
	return c
}

// stop reports whether t waited here, and waits no more.
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

// pop takes out a timer that is to be called, and says if there are more; ok is
// false if there was none.
func (s *slot) pop() (c call, more, ok bool) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.head == nil {
		return c, false, false
	}
	c = s.unlink(s.head)
	return c, s.head != nil, true
}

// keepEntry keeps the library's timer of the present hop. A slot that is gone lets
// go of it at once.
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

// isRetired reports that the slot waits no more: it was due, or emptied.
func (s *slot) isRetired() bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	return s.shard.slots[s.tick] != s
}

// assign reports that the slot runs on a movement from here on, and did not.
func (s *slot) assign(number uint32) bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.generation == number || s.shard.slots[s.tick] != s {
		return false
	}
	s.generation = number
	return true
}

// makeDue makes the slot due, once; false if it was, or nothing is in it.
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

// stopAllLocked stops all that is in the slot. The caller holds stripe.mu.
func (s *slot) stopAllLocked() {
	for s.head != nil {
		s.unlink(s.head)
		s.shard.stopped++
	}
}

// stopAll is empty for a caller who does not hold stripe.mu.
func (s *slot) stopAll() {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	s.stopAllLocked()
}
