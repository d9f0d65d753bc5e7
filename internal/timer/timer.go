package timer

import (
	"sync/atomic"
	"time"
)

// Timer is one pending call. It takes 40 bytes, besides the function's own. The
// zero value waits for nothing and is ready for Wheel.Set; it must not be
// copied after that.
type Timer struct {
	slot atomic.Pointer[slot] // it waits there; nil: it does not wait. Written under the stripe's mu

	// guarded by the stripe's mu while it waits
	f          func()
	deadline   time.Duration // since wheel.start
	prev, next *Timer
}

// Stop reports whether it prevented the call: true exactly once, and then the
// function is never called. False if the function has been called (it may be
// running still: Stop does not wait), or the timer was stopped before, by
// Close too, or never set.
func (t *Timer) Stop() bool {
	for s := t.slot.Load(); s != nil; s = t.slot.Load() {
		if s.stop(t) {
			return true
		}
	}
	return false
}

// call is what is left of a timer that is called.
type call struct {
	f        func()
	deadline time.Duration
}
