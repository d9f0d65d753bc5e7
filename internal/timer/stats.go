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
	Within [len(LatenessBounds)]uint64 // Within[i] is the number of calls with at most the delay LatenessBounds[i]
}

// LatenessBounds are the limits of Lateness.Within, in ascending order. A wheel
// with idle workers is usually at most two ticks late.
var LatenessBounds = [...]time.Duration{
	tick, 2 * tick, 3 * tick, 5 * tick, 10 * tick, 25 * tick, 50 * tick,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// Stats returns the counters. It is cheap enough to be called for every scrape of
// metrics.
func (w *Wheel) Stats() Stats {
	stats := Stats{Rebuilt: w.replacedCount.Load()}
	for i := range w.shards {
		w.shards[i].addTo(&stats)
	}
	for i := range w.workers {
		w.workers[i].counts.addTo(&stats)
	}
	for i := range stats.Late.Within[1:] {
		stats.Late.Within[i+1] += stats.Late.Within[i]
	}
	return stats
}

func (s *shard) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Pending += s.pending
	stats.Waiting += s.waiting
	stats.Slots += len(s.slots)
	stats.Stopped += s.stopped
}

// callCounts are the counters of one worker. Only that worker writes them.
type callCounts struct {
	byLateness [len(LatenessBounds) + 1]atomic.Uint64 // number of calls by the first bound that is not exceeded; the last one: all bounds are exceeded
	sum        atomic.Int64                           // sum of the delays, ns
	max        atomic.Int64                           // largest delay, ns
	running    atomic.Bool                            // true: a function is running
}

// recordStart counts a call that starts now with a delay.
func (c *callCounts) recordStart(late time.Duration) {
	i := 0
	for i < len(LatenessBounds) && late > LatenessBounds[i] {
		i++
	}
	c.running.Store(true)
	c.byLateness[i].Add(1)
	c.sum.Add(int64(late))
	if int64(late) > c.max.Load() {
		c.max.Store(int64(late))
	}
}

func (c *callCounts) addTo(stats *Stats) {
	for i := range c.byLateness {
		n := c.byLateness[i].Load()
		stats.Fired += n
		if i < len(LatenessBounds) {
			stats.Late.Within[i] += n
		}
	}
	stats.Late.Sum += time.Duration(c.sum.Load())
	stats.Late.Max = max(stats.Late.Max, time.Duration(c.max.Load()))
	if c.running.Load() {
		stats.Running++
	}
}
