package timer

import (
	"sync"
	"sync/atomic"
	"time"
)

// tick is the precision of deadlines.
const tick = 10 * time.Millisecond

// Timer is one pending call of a function. It takes 40 bytes plus the function's
// own memory. The zero value is ready for Wheel.Set. It must not be copied after
// that. Safe for concurrent use.
type Timer struct {
	slot atomic.Pointer[slot] // the slot in which the timer waits; nil: none. Written under the shard's mu

	// Guarded by the shard's mu while the timer waits.
	fn         func()
	deadline   time.Duration // since wheel.startTime
	prev, next *Timer        // list of the slot's timers
}

// Stop stops the timer and reports whether it prevented the call. If it returns
// true, the function is never called. It returns false if the call has started, if
// the timer was stopped before (also by Close), or if it was never set.
// Stop does not wait for a function that is still running.
func (t *Timer) Stop() bool {
	for slot := t.slot.Load(); slot != nil; slot = t.slot.Load() {
		if slot.stop(t) {
			return true
		}
	}
	return false
}

// pendingCall is the function of a timer and its deadline since wheel.startTime.
type pendingCall struct {
	fn       func()
	deadline time.Duration
}

// slot holds all timers that are due in one tick, in a list through the timers
// themselves. They share one timer of the runtime.
type slot struct {
	shard      *shard
	tickNumber int64 // the slot is due at the end of this tick
	wakeUp     *time.Timer

	// Guarded by shard.mu.
	head  *Timer
	size  int
	isDue bool // true: the slot is due, and no timer is added any more

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
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if timer.slot.Load() != s {
		return false
	}
	s.unlink(timer)
	s.shard.stopped++
	if s.size == 0 && !s.isDue {
		s.wakeUp.Stop()
		delete(s.shard.slots, s.tickNumber)
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

// makeDue marks the slot as due and removes it from its shard. It returns false if
// the slot was removed before.
func (s *slot) makeDue() bool {
	shard := s.shard
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.slots[s.tickNumber] != s {
		return false
	}
	delete(shard.slots, s.tickNumber)
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

// shardCount is the number of shards. With many shards, goroutines that add and
// stop timers rarely wait for the same mutex. It is a power of two.
const shardCount = 64

// shard holds the slots of every 64th tick, with their counters.
type shard struct {
	mu      sync.Mutex      // held briefly
	closed  bool            // true: no timer is added any more
	slots   map[int64]*slot // slots that are not due yet, by tick number
	pending int             // number of timers in all slots, due or not
	waiting int             // number of timers in due slots
	stopped uint64          // number of stopped timers

	_ [64]byte // keeps neighbouring shards off the same cache line
}

// close stops the timers in slots that are not due yet, and refuses new timers.
// The caller does not hold mu.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, slot := range s.slots {
		slot.wakeUp.Stop()
		slot.stopAllLocked()
	}
	clear(s.slots)
}

func (s *shard) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Pending += s.pending
	stats.Waiting += s.waiting
	stats.Slots += len(s.slots)
	stats.Stopped += s.stopped
}
