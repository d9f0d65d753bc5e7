package timer

import (
	"sync/atomic"
	"time"

	"github.com/RussellLuo/timingwheel"
)

const (
	statePending uint32 = iota // registered: on the wheel or in the queue
	stateFired
	stateStopped
)

// Timer is one pending call of After. It takes 64 bytes, besides the
// library's and the function's own.
type Timer struct {
	wheel    *Wheel
	f        func()        // owned by who moves state away from pending
	deadline time.Duration // since wheel.start

	prev, next *Timer // guarded by the registry's shard

	hop     atomic.Pointer[timingwheel.Timer] // the newest, to free it early
	state   atomic.Uint32
	adopted atomic.Uint32 // number of the movement it runs on
}

// Stop reports whether it prevented the call: true exactly once, and then the
// function is never called. False if the function has been called (it may be
// running still: Stop does not wait), or the timer was stopped before, by
// Close too.
func (t *Timer) Stop() bool {
	if _, won := t.end(stateStopped); !won {
		return false
	}
	t.wheel.counters.stopped.Add(1)
	t.release()
	return true
}

// fire runs on a worker.
func (t *Timer) fire() {
	f, won := t.end(stateFired)
	if !won {
		return
	}
	t.hop.Store(nil)
	t.wheel.counters.fire(t.wheel.now() - t.deadline)
	f()
}

// end decides how the timer ends; exactly one caller wins and gets f.
func (t *Timer) end(state uint32) (f func(), won bool) {
	if !t.state.CompareAndSwap(statePending, state) {
		return nil, false
	}
	t.wheel.pending.remove(t)
	f, t.f = t.f, nil
	return f, true
}

// hold keeps the library's timer of the present hop. A timer that has ended
// meanwhile lets go of it at once.
func (t *Timer) hold(hop *timingwheel.Timer) {
	t.hop.Store(hop)
	if t.ended() {
		t.release()
	}
}

func (t *Timer) release() {
	if hop := t.hop.Swap(nil); hop != nil {
		hop.Stop()
	}
}

func (t *Timer) ended() bool { return t.state.Load() != statePending }
