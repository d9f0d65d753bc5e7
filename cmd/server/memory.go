package main

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryLimit is how many bytes the process may use: what is configured, else
// GOMEMLIMIT, else what its container or the machine has; 0 where none is known.
func memoryLimit(mib int64) int64 {
	if mib > 0 {
		return mib << 20
	}
	if limit := debug.SetMemoryLimit(-1); os.Getenv("GOMEMLIMIT") != "" && limit < math.MaxInt64 { // else it is by holdMemory
		return limit
	}
	return machineMemory(os.DirFS("/"))
}

// setMemoryLimit has the collector work harder before the process is past what it may
// use, with a twentieth left for what is not Go's: the heap would grow to twice of
// what is alive, and the process end, before the pressure shows. GOMEMLIMIT goes
// before; 0 bytes are no bound.
func setMemoryLimit(bytes int64) {
	if bytes > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes / 20 * 19)
	}
}

// machineMemory is the memory of the container, by cgroups of version 2 or 1, or of
// the machine, where that is less; 0 where none is told.
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

// readNumber reads a file that is one number; 0 for any other.
func readNumber(root fs.FS, path string) int64 {
	text, _ := fs.ReadFile(root, path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// totalMemory is what Linux says of the machine.
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
