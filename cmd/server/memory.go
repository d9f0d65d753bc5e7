package main

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes the process may use: mib MiB if mib is above 0, else
// GOMEMLIMIT, else the memory of its container or machine. The result 0 means unknown.
func memoryLimit(mib int64) int64 {
	if mib > 0 {
		return mib << 20
	}
	if limit := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && limit < math.MaxInt64 { // without GOMEMLIMIT, the limit may be that of setMemoryLimit
		return limit
	}
	return machineMemory(os.DirFS("/"))
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

// machineMemory returns the memory limit of the container (cgroups version 2 or 1) or the memory
// of the machine, whichever is less, in bytes. 0 means unknown.
func machineMemory(root fs.FS) int64 {
	limit := int64(0)
	for _, bytes := range []int64{
		readNumberFile(root, "sys/fs/cgroup/memory.max"), readNumberFile(root, "sys/fs/cgroup/memory/memory.limit_in_bytes"), totalMemory(root),
	} {
		if bytes > 0 && (limit == 0 || bytes < limit) {
			limit = bytes
		}
	}
	return limit
}

// readNumberFile returns the number that a file consists of, or 0 if there is no such file or no
// number.
func readNumberFile(root fs.FS, path string) int64 {
	text, _ := fs.ReadFile(root, path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// totalMemory returns the memory of the machine in bytes, from /proc/meminfo. 0 means unknown.
func totalMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
