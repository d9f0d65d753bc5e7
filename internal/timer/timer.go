package timer

import (
	"sync/atomic"
	"time"
)

// tick is the precision of deadlines.
const tick = 10 * time.Millisecond

// Timer is one pending call of a function. It takes 40 bytes plus the function's
// own memory. The zero value is ready for Wheel.Set. It must not be copied after
// that, nor be set on another wheel. Safe for concurrent use.
type Timer struct {
	slot atomic.Pointer[slot] // the slot in which the timer waits; nil: none. Written under Wheel.mu

	// Guarded by Wheel.mu.
	fn         func()
	deadline   time.Duration // since Wheel.startTime
	prev, next *Timer        // list of the slot's timers
}

// Stop stops the timer and reports whether it prevented the call. If it returns
// true, the function is never called. It returns false if the call has started, if
// the timer was stopped before (also by Close), or if it was never set.
// Stop does not wait for a function that is still running.
func (t *Timer) Stop() bool {
	slot := t.slot.Load()
	if slot == nil {
		return false
	}
	slot.wheel.mu.Lock()
	defer slot.wheel.mu.Unlock()
	return t.stop()
}

// stop is Stop for a caller that holds Wheel.mu.
func (t *Timer) stop() bool {
	slot := t.slot.Load()
	if slot == nil {
		return false
	}
	slot.unlink(t)
	slot.wheel.stats.Stopped++
	if slot.head == nil && !slot.isDue {
		slot.wakeUp.Stop()
		delete(slot.wheel.slots, slot.tickNumber)
	}
	return true
}

// slot holds all timers that are due in one tick, in a list through the timers
// themselves. They share one timer of the runtime. Wheel.mu guards it.
type slot struct {
	wheel      *Wheel
	tickNumber int64 // the slot is due at the end of this tick
	wakeUp     *time.Timer
	head       *Timer
	size       int
	isDue      bool  // true: the slot is due, and no timer is added any more
	nextDue    *slot // next slot in the wheel's queue
}

// dueTime returns when the slot is due, since Wheel.startTime. No timer in it has a
// later deadline.
func (s *slot) dueTime() time.Duration { return time.Duration(s.tickNumber) * tick }

// link adds a timer that is in no slot.
func (s *slot) link(timer *Timer) {
	timer.next = s.head
	if s.head != nil {
		s.head.prev = timer
	}
	s.head = timer
	s.size++
	s.wheel.stats.Pending++
	timer.slot.Store(s)
}

// unlink removes a timer from the slot.
func (s *slot) unlink(timer *Timer) {
	if timer.prev != nil {
		timer.prev.next = timer.next
	} else {
		s.head = timer.next
	}
	if timer.next != nil {
		timer.next.prev = timer.prev
	}
	timer.fn, timer.prev, timer.next = nil, nil, nil
	s.size--
	s.wheel.stats.Pending--
	if s.isDue {
		s.wheel.stats.Waiting--
	}
	timer.slot.Store(nil)
}

// stopAll stops all timers in the slot.
func (s *slot) stopAll() {
	for s.head != nil {
		s.unlink(s.head)
		s.wheel.stats.Stopped++
	}
}
