package pressure

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// Signal is one of the things by which the pressure is known.
type Signal struct {
	Name   string          // a metric's label
	Read   func() float64  // is called once a second
	From   [Levels]float64 // the value from which on the node is at each level, growing
	Steady int             // looks in a row that it takes to rise; 0 is 1
}

// calm is how many looks in a row have to be well below a level until it is
// left for the next lower one, and well is what is that.
const (
	calm = 5
	well = 0.9
)

// state is a signal as it stands.
type state struct {
	Signal
	value      float64
	level      int
	high, down int // looks in a row above the level, and well below it
}

// look reads the signal. It rises as far as the value says, once that was
// steady, and falls a level at a time.
func (s *state) look() {
	s.value = s.Read()
	reached := 0
	for reached < Levels && s.value >= s.From[reached] {
		reached++
	}
	switch {
	case reached > s.level:
		s.down = 0
		if s.high++; s.high >= s.Steady {
			s.level, s.high = reached, 0
		}
	case s.level > 0 && s.value < well*s.From[s.level-1]:
		s.high = 0
		if s.down++; s.down >= calm {
			s.level, s.down = s.level-1, 0
		}
	default:
		s.high, s.down = 0, 0
	}
}

// Memory is the share of limit bytes that is in use: what the last collection
// found alive, and stacks. From 70% on the collector works for little.
func Memory(limit int64) Signal {
	m := &memory{samples: []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/heap/objects:bytes"},
	}}
	s := Signal{
		Name: "memory", From: [Levels]float64{.70, .75, .80, .85, .90},
		Read: func() float64 { return m.read() / float64(limit) },
	}
	m.much = well * s.From[0] * float64(limit)
	return s
}

type memory struct {
	samples  []metrics.Sample
	cycles   uint64  // of the collector, so far
	standing int     // reads since there was one
	much     float64 // bytes
}

// staleAfter is after how many reads without a collection one is had where much may be
// alive: what refuses everything allocates little, and would not hear that it has room
// again.
const staleAfter = 10

func (m *memory) read() (used float64) {
	metrics.Read(m.samples)
	for _, s := range m.samples[:3] {
		used += float64(s.Value.Uint64())
	}
	cycles, objects := m.samples[3].Value.Uint64(), float64(m.samples[4].Value.Uint64())
	if cycles != m.cycles {
		m.cycles, m.standing = cycles, 0
	} else if m.standing++; m.standing >= staleAfter && max(used, objects) >= m.much {
		m.standing = 0
		runtime.GC()
	}
	return used
}

// Lag is how long goroutines that could run wait for a processor, that of 99 in
// 100, in seconds; from most on the node is at the first level, then at each
// doubling. It has to be so for 3 s.
func Lag(most time.Duration) Signal {
	s := Signal{Name: lagSignal, Read: newLag().read, Steady: 3}
	for i := range s.From {
		s.From[i] = most.Seconds() * float64(int(1)<<i)
	}
	s.From[Levels-1] = math.Inf(1) // idle sessions cost memory, not time
	return s
}

// lagSignal names the scheduler lag among the signals.
const lagSignal = "lag"

type lag struct {
	sample []metrics.Sample
	before []uint64
}

func newLag() *lag { return &lag{sample: []metrics.Sample{{Name: "/sched/latencies:seconds"}}} }

// read is the quantile since the read before.
func (l *lag) read() float64 {
	metrics.Read(l.sample)
	h := l.sample[0].Value.Float64Histogram()
	if len(l.before) != len(h.Counts) {
		l.before = make([]uint64, len(h.Counts))
	}
	var all uint64
	for i, n := range h.Counts {
		all += n - l.before[i]
	}
	value, left := 0.0, all/100
	for i := len(h.Counts) - 1; i >= 0 && all > 0; i-- {
		n := h.Counts[i] - l.before[i]
		if n > left {
			value = max(h.Buckets[i], 0) // the lower end of its bucket
			break
		}
		left -= n
	}
	copy(l.before, h.Counts)
	return value
}
