package timer

import (
	"time"

	"github.com/RussellLuo/timingwheel"
)

// slot holds all timers that are due in one tick, in a list through the timers
// themselves. They share one library entry and one wake-up.
type slot struct {
	shard      *shard
	tickNumber int64 // the slot is due at the end of this tick

	// Guarded by shard.mu.
	head       *Timer
	size       int
	isDue      bool               // true: the slot is due, and no timer is added any more
	generation uint32             // number of the generation that the slot runs on
	entry      *timingwheel.Timer // the newest library entry; removeIfEmpty frees it early

	nextDue *slot // next slot in the run queue; guarded by runQueue.mu
}

// dueTime returns when the slot is due, since wheel.startTime. No timer in it has a
// later deadline.
func (s *slot) dueTime() time.Duration { return time.Duration(s.tickNumber) * tick }

// link adds a timer that is in no slot. It returns false if another goroutine has
// put the timer into a slot first. The caller holds shard.mu.
func (s *slot) link(timer *Timer, call pendingCall) bool {
	if !timer.slot.CompareAndSwap(nil, s) {
		return false
	}
	timer.fn, timer.deadline, timer.next = call.fn, call.deadline, s.head
	if s.head != nil {
		s.head.prev = timer
	}
	s.head = timer
	s.size++
	s.shard.pending++
	return true
}

// unlink removes a timer from the slot and returns its call. The caller holds
// shard.mu.
func (s *slot) unlink(timer *Timer) pendingCall {
	if timer.prev != nil {
		timer.prev.next = timer.next
	} else {
		s.head = timer.next
	}
	if timer.next != nil {
		timer.next.prev = timer.prev
	}
	call := pendingCall{timer.fn, timer.deadline}
	timer.fn, timer.prev, timer.next = nil, nil, nil
	s.size--
	s.shard.pending--
	if s.isDue {
		s.shard.waiting--
	}
	timer.slot.Store(nil) // last: after this, other goroutines may set the timer
	return call
}

// stop removes a timer from the slot and reports whether it was in the slot.
func (s *slot) stop(timer *Timer) bool {
	shard := s.shard
	shard.mu.Lock()
	if timer.slot.Load() != s {
		shard.mu.Unlock()
		return false
	}
	s.unlink(timer)
	shard.stopped++
	entry := shard.removeIfEmpty(s)
	shard.mu.Unlock()
	if entry != nil {
		entry.Stop()
	}
	return true
}

// pop removes one timer and returns its call. hasMore reports whether more timers
// are left. ok is false if the slot was empty.
func (s *slot) pop() (call pendingCall, hasMore, ok bool) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.head == nil {
		return call, false, false
	}
	call = s.unlink(s.head)
	return call, s.head != nil, true
}

// storeEntry stores the newest library entry of the slot. If the slot is retired,
// it stops the entry instead.
func (s *slot) storeEntry(entry *timingwheel.Timer) {
	shard := s.shard
	shard.mu.Lock()
	isRetired := shard.slots[s.tickNumber] != s
	if !isRetired {
		s.entry = entry
	}
	shard.mu.Unlock()
	if isRetired {
		entry.Stop()
	}
}

// isRetired reports whether the slot no longer waits: it has become due, or it was
// removed because it was empty.
func (s *slot) isRetired() bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	return s.shard.slots[s.tickNumber] != s
}

// setGeneration stores the number of the generation on which the slot runs. It
// returns false if the slot already runs there or is retired.
func (s *slot) setGeneration(number uint32) bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.generation == number || s.shard.slots[s.tickNumber] != s {
		return false
	}
	s.generation = number
	return true
}

// makeDue marks the slot as due and retires it. It returns false if the slot was
// retired before, or is empty.
func (s *slot) makeDue() bool {
	shard := s.shard
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.slots[s.tickNumber] != s {
		return false
	}
	delete(shard.slots, s.tickNumber)
	s.entry = nil
	if s.size == 0 {
		return false
	}
	s.isDue = true
	shard.waiting += s.size
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
