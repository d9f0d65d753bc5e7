package config

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

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

// gcHeadroom returns how many bytes the node allocates before the garbage collector runs. That
// is mib MiB if mib is above 0, else 1/16 of memory (in bytes) or 192 MiB, whichever is less. If
// memory is 0 (unknown), it is 192 MiB. If GOGC is set, it is 0, and GOGC decides.
func gcHeadroom(mib, memory int64) int64 {
	const memoryDivisor, maxDefault = 16, 192 << 20
	switch {
	case os.Getenv("GOGC") != "":
		return 0
	case mib > 0:
		return mib << 20
	case memory > 0:
		return min(memory/memoryDivisor, maxDefault)
	}
	return maxDefault
}

// gcTuner sets the GC percentage so that the collector runs after the headroom at the
// earliest. Without it, a node with few players has a small live heap and collects many times a
// second. The tuner runs after each collection, until it is stopped.
type gcTuner struct {
	headroom float64 // bytes

	mu      sync.Mutex
	stopped bool
}

// defaultGCPercent is the default of GOGC.
const defaultGCPercent = 100

// startGCTuner starts a tuner with a headroom in bytes. It does nothing for 0 bytes. The returned
// function stops the tuner and restores the default percentage.
func startGCTuner(bytes int64) (stop func()) {
	if bytes <= 0 {
		return func() {}
	}
	t := &gcTuner{headroom: float64(bytes)}
	t.tune()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stopped = true
		debug.SetGCPercent(defaultGCPercent)
	}
}

// tune sets the percentage for the current live heap. It also allocates an unused object with a
// cleanup, so that the runtime calls tune again after the next collection frees the object.
func (t *gcTuner) tune() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	live := samples[0].Value.Uint64() + samples[1].Value.Uint64() + samples[2].Value.Uint64()
	debug.SetGCPercent(t.percentFor(float64(live)))
	tracer := new(struct{ _ *gcTuner }) // with a pointer, because the allocator batches small objects without one
	runtime.AddCleanup(tracer, (*gcTuner).tune, t)
}

// percentFor returns the GC percentage that leaves the headroom, but at least the default. live
// is the live heap and the roots, in bytes. The collector runs when the heap has grown by that
// percentage of live, or of 4 MiB if that is more.
func (t *gcTuner) percentFor(live float64) int {
	const minGoal = 4 << 20
	return max(defaultGCPercent, int(100*t.headroom/max(live, minGoal)))
}
