package timer

import (
	"sync/atomic"
	"time"
)

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
