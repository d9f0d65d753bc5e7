package overload

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxLevel is the highest load level; the lowest is 0.
const maxLevel = 5

type signal struct {
	gauge      prometheus.Gauge  // of the value
	read       func() float64    // returns the current value; called once a second
	thresholds [maxLevel]float64 // the lowest values of the levels 1 to maxLevel, in rising order
	riseAfter  int               // consecutive updates above a level before the signal rises; 0 means 1

	value                      float64
	level                      int
	updatesAbove, updatesBelow int // consecutive updates above the level, and clearly below it
}

// A signal falls one level after fallAfterUpdates consecutive updates below
// fallBelowFactor times the level's threshold.
const (
	fallAfterUpdates = 5
	fallBelowFactor  = 0.9
)

// update reads the signal and changes its level. The signal rises to the level of the
// value after riseAfter updates, and falls one level at a time.
func (s *signal) update() {
	s.value = s.read()
	s.gauge.Set(s.value)
	valueLevel := 0
	for valueLevel < maxLevel && s.value >= s.thresholds[valueLevel] {
		valueLevel++
	}
	switch {
	case valueLevel > s.level:
		s.updatesBelow = 0
		if s.updatesAbove++; s.updatesAbove >= s.riseAfter {
			s.level, s.updatesAbove = valueLevel, 0
		}
	case s.level > 0 && s.value < fallBelowFactor*s.thresholds[s.level-1]:
		s.updatesAbove = 0
		if s.updatesBelow++; s.updatesBelow >= fallAfterUpdates {
			s.level, s.updatesBelow = s.level-1, 0
		}
	default:
		s.updatesAbove, s.updatesBelow = 0, 0
	}
}

// newMemorySignal returns a signal whose value is the share of limitBytes in use: the live
// heap of the last garbage collection, and the stacks. Above 70% the garbage collector
// needs much processor time and frees little.
func newMemorySignal(limitBytes int64, gauge prometheus.Gauge) signal {
	reader := &memoryReader{samples: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"},
	}}
	memory := signal{
		gauge: gauge, thresholds: [maxLevel]float64{.70, .75, .80, .85, .90},
		read: func() float64 { return reader.read() / float64(limitBytes) },
	}
	reader.forcedGCThreshold = fallBelowFactor * memory.thresholds[0] * float64(limitBytes)
	return memory
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

// newLagSignal returns a signal whose value is the scheduler lag: how long runnable goroutines
// wait for a processor, the 99th percentile in seconds. Level 1 starts at firstLevel, and
// each further level at twice the value. The signal rises after 3 s of lag.
func newLagSignal(firstLevel time.Duration, gauge prometheus.Gauge) signal {
	lag := signal{gauge: gauge, read: newLagReader().read, riseAfter: 3}
	for i := range lag.thresholds {
		lag.thresholds[i] = firstLevel.Seconds() * float64(int(1)<<i)
	}
	lag.thresholds[maxLevel-1] = math.Inf(1) // closing idle sessions frees memory, not processor time
	return lag
}

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
