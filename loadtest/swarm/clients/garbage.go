package clients

import (
	"runtime"
	"runtime/debug"
)

// While a client process collects garbage, it reads nothing for a tenth of a second.
// Answers then seem late. The bounds below are memory of the process in bytes. A process
// with as many connections as it may have files takes half a GiB.
const (
	memoryLimit          = 1 << 30
	measuringMemoryLimit = 3 << 30
)

// CollectRarely makes the collector of this process run only when there is much garbage.
func CollectRarely() {
	debug.SetGCPercent(4000)
	debug.SetMemoryLimit(memoryLimit)
}

// collectNow runs the collector now. The next collection starts when the memory reaches
// measuringMemoryLimit, which takes longer than a measurement of a minute or two.
func collectNow() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(measuringMemoryLimit)
	runtime.GC()
}
