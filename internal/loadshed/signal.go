package loadshed

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// Signal is one measure of a node's load.
type Signal struct {
	Name       string          // label of the metric
	Read       func() float64  // returns the current value; called once a second
	Thresholds [Levels]float64 // the lowest values of the levels 1 to MaxLevel, in rising order
	RiseAfter  int             // consecutive updates above a level before the signal rises; 0 means 1
}

// A signal falls one level after fallAfterUpdates consecutive updates below
// fallBelowFactor times the level's threshold.
const (
	fallAfter = 5
	fallBelow = 0.9
)

// signalState is a signal with its current level.
type signalState struct {
	Signal
	value        float64
	level        int
	above, below int // consecutive updates above the level, and clearly below it
}

// update reads the signal and changes its level. The signal rises to the level of the
// value after RiseAfter updates, and falls one level at a time.
func (s *signalState) update() {
	s.value = s.Read()
	reached := 0
	for reached < Levels && s.value >= s.Thresholds[reached] {
		reached++
	}
	switch {
	case reached > s.level:
		s.below = 0
		if s.above++; s.above >= s.RiseAfter {
			s.level, s.above = reached, 0
		}
	case s.level > 0 && s.value < fallBelow*s.Thresholds[s.level-1]:
		s.above = 0
		if s.below++; s.below >= fallAfter {
			s.level, s.below = s.level-1, 0
		}
	default:
		s.above, s.below = 0, 0
	}
}

// MemorySignal returns a signal whose value is the share of limitBytes in use: the live
// heap of the last garbage collection, and the stacks. Above 70% the garbage collector
// needs much processor time and frees little.
func MemorySignal(limit int64) Signal {
	m := &memoryReader{samples: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"},
	}}
	s := Signal{
		Name: "memory", Thresholds: [Levels]float64{.70, .75, .80, .85, .90},
		Read: func() float64 { return m.read() / float64(limit) },
	}
	m.gcThreshold = fallBelow * s.Thresholds[0] * float64(limit)
	return s
}

// memoryReader reads how much memory is in use. It is not safe for concurrent use.
type memoryReader struct {
	samples      []metrics.Sample
	cycles       uint64  // garbage collections since the process started
	readsSinceGC int     // reads since the last garbage collection
	gcThreshold  float64 // a collection is forced only if at least so many bytes are in use
}

// forceGCAfterReads is after how many reads without a garbage collection read forces one,
// if much memory is in use. A node that refuses everything allocates little. Without a
// forced collection it would not notice that memory is free again.
const staleAfter = 10

// read returns the bytes in use: live heap and stacks.
func (m *memoryReader) read() (used float64) {
	metrics.Read(m.samples)
	for _, s := range m.samples[:3] {
		used += float64(s.Value.Uint64())
	}
	cycles, objects := m.samples[3].Value.Uint64(), float64(m.samples[4].Value.Uint64())
	if cycles != m.cycles {
		m.cycles, m.readsSinceGC = cycles, 0
	} else if m.readsSinceGC++; m.readsSinceGC >= staleAfter && max(used, objects) >= m.gcThreshold {
		m.readsSinceGC = 0
		runtime.GC()
	}
	return used
}

// LagSignal returns a signal whose value is the scheduler lag: how long runnable goroutines
// wait for a processor, the 99th percentile in seconds. Level 1 starts at firstLevel, and
// each further level at twice the value. The signal rises after 3 s of lag.
func LagSignal(firstLevel time.Duration) Signal {
	s := Signal{Name: lagName, Read: newLagReader().read, RiseAfter: 3}
	for i := range s.Thresholds {
		s.Thresholds[i] = firstLevel.Seconds() * float64(int(1)<<i)
	}
	s.Thresholds[Levels-1] = math.Inf(1) // closing idle sessions frees memory, not processor time
	return s
}

// lagName is the Signal.Name of the scheduler lag.
const lagName = "lag"

// lagReader reads the scheduler lag from the Go runtime. It is not safe for concurrent use.
type lagReader struct {
	sample []metrics.Sample
	counts []uint64 // counts of the runtime's histogram at the last read
}

func newLagReader() *lagReader {
	return &lagReader{sample: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
}

// read returns the 99th percentile of the scheduler lag since the last read, in seconds.
func (l *lagReader) read() float64 {
	metrics.Read(l.sample)
	h := l.sample[0].Value.Float64Histogram()
	if len(l.counts) != len(h.Counts) {
		l.counts = make([]uint64, len(h.Counts))
	}
	var total uint64
	for i, n := range h.Counts {
		total += n - l.counts[i]
	}
	value, left := 0.0, total/100
	for i := len(h.Counts) - 1; i >= 0 && total > 0; i-- {
		n := h.Counts[i] - l.counts[i]
		if n > left {
			value = max(h.Buckets[i], 0) // the lower bound of the bucket
			break
		}
		left -= n
	}
	copy(l.counts, h.Counts)
	return value
}
