package timer

import (
	"sync/atomic"
	"time"
)

// Stats are the counters of a wheel since New. They are read one after the
// other, so they may differ by a moment.
type Stats struct {
	Pending int    // timers neither called nor stopped
	Waiting int    // pending timers that are due and wait for a worker
	Slots   int    // slots that are not due yet; each has one entry in the library's wheel
	Running int    // workers that run a function
	Fired   uint64 // number of calls of functions
	Stopped uint64 // timers stopped in time by Stop, Set or Close
	Rebuilt uint64 // number of replaced generations
	Late    Lateness
}

// Lateness is the delay between deadlines and the calls of their functions.
type Lateness struct {
	Max    time.Duration
	Sum    time.Duration
	Within [len(Bounds)]uint64 // Within[i] is the number of calls with at most the delay LatenessBounds[i]
}

// LatenessBounds are the limits of Lateness.Within, in ascending order. A wheel
// with idle workers is usually at most two ticks late.
var Bounds = [...]time.Duration{
	tick, 2 * tick, 3 * tick, 5 * tick, 10 * tick, 25 * tick, 50 * tick,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Stats returns the counters. It is cheap enough to be called for every scrape of
// metrics.
func (w *Wheel) Stats() Stats {
	s := Stats{Rebuilt: w.rebuilt.Load()}
	for i := range w.shards {
		w.shards[i].addTo(&s)
	}
	for i := range w.workers {
		w.workers[i].counts.addTo(&s)
	}
	for i := range s.Late.Within[1:] {
		s.Late.Within[i+1] += s.Late.Within[i]
	}
	return s
}

func (st *shard) addTo(s *Stats) {
	st.mu.Lock()
	defer st.mu.Unlock()
	s.Pending += st.pending
	s.Waiting += st.waiting
	s.Slots += len(st.slots)
	s.Stopped += st.stopped
}

// callCounts are the counters of one worker. Only that worker writes them.
type counts struct {
	late    [len(Bounds) + 1]atomic.Uint64 // number of calls by the first bound that is not exceeded; the last one: all bounds are exceeded
	sum     atomic.Int64                   // sum of the delays, ns
	max     atomic.Int64                   // largest delay, ns
	running atomic.Bool                    // true: a function is running
}

// recordStart counts a call that starts now with a delay.
func (c *counts) record(late time.Duration) {
	i := 0
	for i < len(Bounds) && late > Bounds[i] {
		i++
	}
	c.running.Store(true)
	c.late[i].Add(1)
	c.sum.Add(int64(late))
	if int64(late) > c.max.Load() {
		c.max.Store(int64(late))
	}
}

func (c *counts) addTo(s *Stats) {
	for i := range c.late {
		n := c.late[i].Load()
		s.Fired += n
		if i < len(Bounds) {
			s.Late.Within[i] += n
		}
	}
	s.Late.Sum += time.Duration(c.sum.Load())
	s.Late.Max = max(s.Late.Max, time.Duration(c.max.Load()))
	if c.running.Load() {
		s.Running++
	}
}
