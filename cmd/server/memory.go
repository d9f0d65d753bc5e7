package main

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes the process may use: the configured number, else
// GOMEMLIMIT, else the memory of its container or machine. 0 means unknown.
func memoryLimit(mib int64) int64 {
	if mib > 0 {
		return mib << 20
	}
	if limit := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && limit < math.MaxInt64 { // without GOMEMLIMIT, setMemoryLimit has set it
		return limit
	}
	return machineMemory(os.DirFS("/"))
}

// setMemoryLimit makes the garbage collector run more often before the process exceeds its
// memory. Without it the heap may grow to twice the live heap, and the kernel kills the
// process before the load shedder notices. A twentieth is left for memory outside the Go heap.
// GOMEMLIMIT takes precedence; 0 bytes mean no limit.
func setMemoryLimit(bytes int64) {
	if bytes > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes / 20 * 19)
	}
}

// machineMemory returns the memory of the container (cgroups version 2 or 1) or of the
// machine, whichever is less. 0 means unknown.
func machineMemory(root fs.FS) int64 {
	limit := int64(0)
	for _, bytes := range []int64{
		readNumber(root, "sys/fs/cgroup/memory.max"), readNumber(root, "sys/fs/cgroup/memory/memory.limit_in_bytes"), totalMemory(root),
	} {
		if bytes > 0 && (limit == 0 || bytes < limit) {
			limit = bytes
		}
	}
	return limit
}

// readNumber returns the number in a file, or 0 if the file has none.
func readNumber(root fs.FS, path string) int64 {
	text, _ := fs.ReadFile(root, path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// totalMemory returns the memory of the machine from /proc/meminfo; 0 means unknown.
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
