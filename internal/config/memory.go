package config

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// SetMemory configures the garbage collector for a memory limit and a headroom, both in MiB;
// 0 means their defaults. The returned function ends the control of the headroom.
func SetMemory(limitMiB, headroomMiB int64) (stop func()) {
	limit := MemoryLimit(limitMiB)
	setMemoryLimit(limit)
	return startGCTuner(gcHeadroom(headroomMiB, limit))
}

// MemoryLimit returns how many bytes the process may use: mib MiB if mib is above 0, else
// GOMEMLIMIT, else the memory of its container or machine, whichever is less. The result 0
// means unknown.
func MemoryLimit(mib int64) int64 {
	if mib > 0 {
		return mib << 20
	}
	if limit := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && limit < math.MaxInt64 { // without GOMEMLIMIT, the limit may be that of setMemoryLimit
		return limit
	}
	smallest := uint64(math.MaxInt64)
	for _, provider := range []memlimit.Provider{memlimit.FromCgroup, memlimit.FromSystem} {
		if bytes, err := provider(); err == nil && bytes > 0 {
			smallest = min(smallest, bytes)
		}
	}
	if smallest == math.MaxInt64 {
		return 0
	}
	return int64(smallest)
}

// setMemoryLimit makes the garbage collector run more often when the process comes close to its
// memory limit. Without it the heap may grow to twice the live heap; then the kernel kills the
// process before the load shedder reacts. 5% remain for memory outside the Go heap. If GOMEMLIMIT
// is set or bytes is 0, the function does nothing.
func setMemoryLimit(bytes int64) {
	if bytes > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes / 20 * 19)
	}
}
