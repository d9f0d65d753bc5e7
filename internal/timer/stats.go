package timer

import "time"

// Stats are the counters of a wheel since New.
type Stats struct {
	Pending int    // timers neither called nor stopped
	Waiting int    // pending timers that are due and wait for a worker
	Slots   int    // slots that are not due yet; each has one timer of the runtime
	Running int    // workers that run a function
	Fired   uint64 // number of calls of functions
	Stopped uint64 // timers stopped in time by Stop, Set or Close
	Late    Lateness
}

// Lateness is the delay between deadlines and the calls of their functions.
type Lateness struct {
	Max    time.Duration
	Sum    time.Duration
	Within [len(LatenessBounds)]uint64 // Within[i] is the number of calls with at most the delay LatenessBounds[i]
}

// LatenessBounds are the limits of Lateness.Within, in ascending order. A wheel
// with idle workers is usually at most two ticks late.
var LatenessBounds = [...]time.Duration{
	tick, 2 * tick, 3 * tick, 5 * tick, 10 * tick, 25 * tick, 50 * tick,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// recordCall counts a call that starts now with a delay.
func (s *Stats) recordCall(late time.Duration) {
	s.Fired++
	s.Late.Sum += late
	s.Late.Max = max(s.Late.Max, late)
	for i := len(LatenessBounds) - 1; i >= 0 && late <= LatenessBounds[i]; i-- {
		s.Late.Within[i]++
	}
}
