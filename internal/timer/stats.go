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
	Slots   int    // ticks with pending timers: entries of the library's wheel
	Running int    // workers that run a function
	Fired   uint64 // called functions
	Stopped uint64 // timers stopped in time by Stop, Set or Close
	Rebuilt uint64 // number of replaced generations
	Late    Lateness
}

// Lateness is the delay between deadlines and the calls of their functions.
type Lateness struct {
	Max    time.Duration
	Sum    time.Duration
	Within [len(Bounds)]uint64 // calls with at most this delay (Bounds); Stats.Fired counts all
}

// Bounds are the limits of Lateness.Within. The wheel promises at most two
// ticks.
var Bounds = [...]time.Duration{
	tick, 2 * tick, 3 * tick, 5 * tick, 10 * tick, 25 * tick, 50 * tick,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Stats is cheap enough to be called for every scrape of metrics.
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

// counts are the calls of one worker. Only that worker writes them.
type counts struct {
	late    [len(Bounds) + 1]atomic.Uint64 // by the first bound that is not exceeded; the last one: all are exceeded
	sum     atomic.Int64                   // ns
	max     atomic.Int64                   // ns
	running atomic.Bool
}

// record counts a call that begins.
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
