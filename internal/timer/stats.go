package timer

import "time"

// Stats are the counters of a wheel since New.
type Stats struct {
	Pending int           // timers neither called nor stopped
	Waiting int           // pending timers that are due and wait for a worker
	Slots   int           // slots that are not due yet; each has one timer of the runtime
	Running int           // workers that run a function
	Fired   uint64        // number of calls of functions
	Stopped uint64        // timers stopped in time by Stop, Set or Close
	MaxLate time.Duration // largest delay between a deadline and the call of its function
}
