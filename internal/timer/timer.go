package timer

import (
	"sync/atomic"
	"time"
)

// Timer is one pending call. It takes 40 bytes plus the function's own memory.
// The zero value waits for nothing and is ready for Wheel.Set. It must not be
// copied after that.
type Timer struct {
	slot atomic.Pointer[slot] // the slot in which the timer waits; nil: it does not wait. Written under the shard's mu

	// Guarded by the shard's mu while the timer waits.
	f          func()
	deadline   time.Duration // since wheel.start
	prev, next *Timer
}

// Stop reports whether it prevented the call. It returns true exactly once, and
// then the function is never called. It returns false if the function has been
// called, the timer was stopped before (also by Close), or it was never set.
// Stop does not wait for a function that is still running.
func (t *Timer) Stop() bool {
	for s := t.slot.Load(); s != nil; s = t.slot.Load() {
		if s.stop(t) {
			return true
		}
	}
	return false
}

// call is the function and deadline of a timer that is being called.
type call struct {
	f        func()
	deadline time.Duration
}
