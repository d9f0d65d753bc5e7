package overload

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// MaxLevel is the highest load level; the lowest is 0.
const MaxLevel = 5

// Signal is one measure of a node's load.
type Signal struct {
	Name       string            // label of the metric
	Read       func() float64    // returns the current value; called once a second
	Thresholds [MaxLevel]float64 // the lowest values of the levels 1 to MaxLevel, in rising order
	RiseAfter  int               // consecutive updates above a level before the signal rises; 0 means 1
}

// A signal falls one level after fallAfterUpdates consecutive updates below
// fallBelowFactor times the level's threshold.
const (
	fallAfterUpdates = 5
	fallBelowFactor  = 0.9
)

// signalState is a signal with its current level.
type signalState struct {
	Signal
	value                      float64
	level                      int
	updatesAbove, updatesBelow int // consecutive updates above the level, and clearly below it
}

// update reads the signal and changes its level. The signal rises to the level of the
// value after RiseAfter updates, and falls one level at a time.
func (s *signalState) update() {
	s.value = s.Read()
	valueLevel := 0
	for valueLevel < MaxLevel && s.value >= s.Thresholds[valueLevel] {
		valueLevel++
	}
	switch {
	case valueLevel > s.level:
		s.updatesBelow = 0
		if s.updatesAbove++; s.updatesAbove >= s.RiseAfter {
			s.level, s.updatesAbove = valueLevel, 0
		}
	case s.level > 0 && s.value < fallBelowFactor*s.Thresholds[s.level-1]:
		s.updatesAbove = 0
		if s.updatesBelow++; s.updatesBelow >= fallAfterUpdates {
			s.level, s.updatesBelow = s.level-1, 0
		}
	default:
		s.updatesAbove, s.updatesBelow = 0, 0
	}
}

// MemorySignal returns a signal whose value is the share of limitBytes in use: the live
// heap of the last garbage collection, and the stacks. Above 70% the garbage collector
// needs much processor time and frees little.
func MemorySignal(limitBytes int64) Signal {
	reader := &memoryReader{samples: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"},
	}}
	signal := Signal{
		Name: "memory", Thresholds: [MaxLevel]float64{.70, .75, .80, .85, .90},
		Read: func() float64 { return reader.read() / float64(limitBytes) },
	}
	reader.forcedGCThreshold = fallBelowFactor * signal.Thresholds[0] * float64(limitBytes)
	return signal
}

// memoryReader reads how much memory is in use. It is not safe for concurrent use.
type memoryReader struct {
	samples           []metrics.Sample
	gcCycles          uint64  // garbage collections since the process started
	readsSinceGC      int     // reads since the last garbage collection
	forcedGCThreshold float64 // a collection is forced only if at least so many bytes are in use
}

// forceGCAfterReads is after how many reads without a garbage collection read forces one,
// if much memory is in use. A node that refuses everything allocates little. Without a
// forced collection it would not notice that memory is free again.
const forceGCAfterReads = 10

// read returns the bytes in use: live heap and stacks.
func (m *memoryReader) read() (usedBytes float64) {
	metrics.Read(m.samples)
	for _, sample := range m.samples[:3] {
		usedBytes += float64(sample.Value.Uint64())
	}
	cycles, objects := m.samples[3].Value.Uint64(), float64(m.samples[4].Value.Uint64())
	if cycles != m.gcCycles {
		m.gcCycles, m.readsSinceGC = cycles, 0
	} else if m.readsSinceGC++; m.readsSinceGC >= forceGCAfterReads && max(usedBytes, objects) >= m.forcedGCThreshold {
		m.readsSinceGC = 0
		runtime.GC()
	}
	return usedBytes
}

// LagSignal returns a signal whose value is the scheduler lag: how long runnable goroutines
// wait for a processor, the 99th percentile in seconds. Level 1 starts at firstLevel, and
// each further level at twice the value. The signal rises after 3 s of lag.
func LagSignal(firstLevel time.Duration) Signal {
	signal := Signal{Name: lagName, Read: newLagReader().read, RiseAfter: 3}
	for i := range signal.Thresholds {
		signal.Thresholds[i] = firstLevel.Seconds() * float64(int(1)<<i)
	}
	signal.Thresholds[MaxLevel-1] = math.Inf(1) // closing idle sessions frees memory, not processor time
	return signal
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
	histogram := l.sample[0].Value.Float64Histogram()
	if len(l.counts) != len(histogram.Counts) {
		l.counts = make([]uint64, len(histogram.Counts))
	}
	var total uint64
	for i, n := range histogram.Counts {
		total += n - l.counts[i]
	}
	value, remaining := 0.0, total/100
	for i := len(histogram.Counts) - 1; i >= 0 && total > 0; i-- {
		n := histogram.Counts[i] - l.counts[i]
		if n > remaining {
			value = max(histogram.Buckets[i], 0) // the lower bound of the bucket
			break
		}
		remaining -= n
	}
	copy(l.counts, histogram.Counts)
	return value
}
