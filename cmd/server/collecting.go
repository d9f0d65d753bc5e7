package main

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/prometheus/client_golang/prometheus/collectors"
)

// garbage is how much of it there is to be before it is collected, in bytes: what is
// configured, else a sixteenth of the memory there is; 0, which is for the collector to
// say, where GOGC does. A collection takes a tenth of a second of two busy processors,
// in which answers wait: with a sixteenth of 24 GiB it is one in 25 s, where 5,000
// players are there and 1,500 play duels.
func garbage(mib, memory int64) int64 {
	const share, unknown = 16, 256 << 20
	switch {
	case os.Getenv("GOGC") != "":
		return 0
	case mib > 0:
		return mib << 20
	case memory > 0:
		return memory / share
	}
	return unknown
}

// aliveMetric shows what was alive at the last collection, go_gc_heap_live_bytes: the
// heap in use is mostly garbage.
var aliveMetric = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}

// collector has garbage collected no sooner than there is so much, and otherwise as
// always, when the heap has doubled: a node of few players has little that is alive,
// and would collect many times a second. It looks again after each collection, by what
// was alive then, until it is let go.
type collector struct {
	garbage float64 // bytes

	mu      sync.Mutex
	percent int // in force
	gone    bool
}

// usualPercent is what the heap grows by before it is collected, as a rule.
const usualPercent = 100

// collectNoSooner starts a collector; bytes that are 0 leave all as it is. What it
// gives ends it.
func collectNoSooner(bytes int64) (stop func()) {
	if bytes <= 0 {
		return func() {}
	}
	c := &collector{garbage: float64(bytes)}
	c.look()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone = true
		debug.SetGCPercent(usualPercent)
	}
}

// look sets by what share the heap grows, and looks again once the next collection
// has found that nobody holds what it leaves behind.
func (c *collector) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	if percent := c.due(aliveNow()); c.percent == 0 || apart(percent, c.percent) {
		c.percent = percent // each change stops the world for some µs
		debug.SetGCPercent(percent)
	}
	left := new(struct{ _ *collector }) // a pointer: small things without one share their room
	runtime.AddCleanup(left, (*collector).look, c)
}

// alive is what the last collection found, in bytes: the heap, and what it is
// measured against beside it.
type alive struct{ heap, roots float64 }

func aliveNow() alive {
	seen := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(seen)
	return alive{float64(seen[0].Value.Uint64()), float64(seen[1].Value.Uint64() + seen[2].Value.Uint64())}
}

// due is the share with which there is so much garbage at the heap's next goal, if not
// more by the usual one: the collector's goal is the live heap and that share of it and
// of the roots. With any share the goal is no lower than that share of 4 MiB.
func (c *collector) due(a alive) int {
	const leastGoal = 4 << 20
	return max(usualPercent, int(100*c.garbage/max(a.heap+a.roots, leastGoal)))
}

// apart says whether two shares differ by over a tenth.
func apart(a, b int) bool { return 10*a > 11*b || 10*b > 11*a }
