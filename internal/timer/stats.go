package timer

import "time"

// Stats is what a wheel has done since New. The fields are read one by one, so
// they may be a moment apart.
type Stats struct {
	Pending  int    // not called, not stopped
	Fired    uint64 // functions called
	Stopped  uint64 // by Stop in time, or by Close
	Deferred uint64 // tries of due timers that found the queue full
	Rebuilt  uint64 // times that a fresh wheel took over
	Late     Lateness
}

// Lateness is the time from deadlines to the calls of their functions.
type Lateness struct {
	Last time.Duration
	Max  time.Duration
}

// Stats is cheap enough for every scrape of metrics.
func (w *Wheel) Stats() Stats {
	c := &w.counters
	return Stats{
		Pending:  w.pending.size(),
		Fired:    c.fired.Load(),
		Stopped:  c.stopped.Load(),
		Deferred: c.deferred.Load(),
		Rebuilt:  c.rebuilt.Load(),
		Late: Lateness{
			Last: time.Duration(c.lastLate.Load()),
			Max:  time.Duration(c.maxLate.Load()),
		},
	}
}

func (c *counters) fire(late time.Duration) {
	c.fired.Add(1)
	c.lastLate.Store(int64(late))
	for {
		most := c.maxLate.Load()
		if int64(late) <= most || c.maxLate.CompareAndSwap(most, int64(late)) {
			return
		}
	}
}
