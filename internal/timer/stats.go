package timer

import (
	"sync/atomic"
	"time"
)

// Stats is what a wheel has done since New. The fields are read one by one, so
// they may be a moment apart.
type Stats struct {
	Pending int    // not called, not stopped
	Waiting int    // of these due, and waiting for a worker
	Slots   int    // ticks that Pending are spread over: entries of the library's wheel
	Running int    // workers that are calling a function
	Fired   uint64 // functions called
	Stopped uint64 // by Stop in time, by Set, or by Close
	Rebuilt uint64 // times that a fresh wheel took over
	Late    Lateness
}

// Lateness is the time from deadlines to the calls of their functions.
type Lateness struct {
	Max    time.Duration
	Sum    time.Duration
	Within [len(Bounds)]uint64 // calls at most so late; Stats.Fired counts all
}

// Bounds are those that Lateness.Within counts by. Up to two ticks is what a
// wheel promises.
var Bounds = [...]time.Duration{
	tick, 2 * tick, 3 * tick, 5 * tick, 10 * tick, 25 * tick, 50 * tick,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Stats is cheap enough for every scrape of metrics.
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

// counts is what one worker has called. Only it writes.
type counts struct {
	late    [len(Bounds) + 1]atomic.Uint64 // by the first bound that holds; the last: none does
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
