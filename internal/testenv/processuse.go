package testenv

import (
	"runtime/metrics"
	"time"

	"github.com/prometheus/procfs"
)

// clockTick is the unit in which Linux reports process times, on all architectures that Go
// supports.
const clockTick = 10 * time.Millisecond

// CPUTime returns the processor time that a process has used.
func CPUTime(pid int) (time.Duration, error) {
	s, err := processStat(pid)
	return seconds(s.CPUTime()), err
}

// CPUTimeWithChildren returns the processor time that a process and its children have used.
// It includes children that have ended.
func CPUTimeWithChildren(pid int) (time.Duration, error) {
	s, err := processStat(pid)
	if err != nil {
		return 0, err
	}
	processes, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	total := seconds(s.CPUTime()) + time.Duration(s.CUTime+s.CSTime)*clockTick
	for _, process := range processes {
		if child, err := process.Stat(); err == nil && child.PPID == pid { // on an error the process has just ended
			total += seconds(child.CPUTime())
		}
	}
	return total, nil
}

// ResidentBytes returns the resident memory of a process.
func ResidentBytes(pid int) (int64, error) {
	s, err := processStat(pid)
	return int64(s.ResidentMemory()), err
}

func processStat(pid int) (s procfs.ProcStat, err error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return s, err
	}
	return process.Stat()
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// RuntimeMetric returns a runtime metric of this process as a whole number. The name is one of
// package runtime/metrics.
func RuntimeMetric(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}
