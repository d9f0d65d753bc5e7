package clients

import (
	"runtime"
	"runtime/debug"
)

// A process of players collects garbage for a tenth of a second, in which it reads
// nothing, so that answers seem to come late. By the memory of a process, in bytes:
// players of as many connections as it has files take half a GiB.
const (
	memoryLimit          = 1 << 30
	measuringMemoryLimit = 3 << 30
)

// CollectRarely has this process collect its garbage when there is a lot of it.
func CollectRarely() {
	debug.SetGCPercent(4000)
	debug.SetMemoryLimit(memoryLimit)
}

// collectNow has it collect now, and not while something is measured for a minute or two:
// from now on when its memory has grown to mostMeasured.
func collectNow() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(measuringMemoryLimit)
	runtime.GC()
}
