package crowd

import (
	"bufio"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// A process that is told to collects its garbage, and then none by itself.
func TestCollectsWhenTold(t *testing.T) { //nolint:paralleltest // the collector is the process's
	usual := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(usual); debug.SetMemoryLimit(limit) })
	CollectRarely()
	c := Start(t.Context(), Order{Every: time.Second})
	stopped := make(chan struct{})
	before := collections()[1]
	c.hear(bufio.NewReader(strings.NewReader("{\"collect\":true}\n{\"stop\":true}\n")), func() {}, stopped)
	<-stopped
	c.Wait()
	if now := collections(); now[0] != math.MaxUint64 || now[1] == before || debug.SetMemoryLimit(-1) != mostMeasured {
		t.Errorf("a share of %d, %d collections more, a limit of %d", now[0], now[1]-before, debug.SetMemoryLimit(-1))
	}
}

// collections are the share of the heap in percent that has garbage collected, and
// how often somebody has had it collected.
func collections() (seen [2]uint64) {
	samples := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(samples)
	return [2]uint64{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}
