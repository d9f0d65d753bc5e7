package clients

import (
	"bufio"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// After the command, a process collects its garbage at once, and then not by itself.
func TestCollectsOnCommand(t *testing.T) { //nolint:paralleltest // the collector is the process's
	usual := debug.SetGCPercent(100)
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(usual); debug.SetMemoryLimit(limit) })
	CollectRarely()
	c := Start(t.Context(), Plan{UpdateEvery: time.Second})
	stopped := make(chan struct{})
	const forced = "/gc/cycles/forced:gc-cycles"
	before := testenv.Runtime(forced)
	c.readCommands(bufio.NewReader(strings.NewReader("{\"collect\":true}\n{\"stop\":true}\n")), func() {}, stopped)
	<-stopped
	c.Wait()
	percent, more, most := testenv.Runtime("/gc/gogc:percent"), testenv.Runtime(forced)-before, debug.SetMemoryLimit(-1)
	if percent != math.MaxUint64 || more == 0 || most != measuringMemoryLimit {
		t.Errorf("a share of %d, %d collections more, a limit of %d", percent, more, most)
	}
}
