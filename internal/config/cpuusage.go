package config

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
)

// assumedCPUUsage is the CPU usage, from 0 to 1, to assume if it is unknown. With it the node adds
// duels, but only a few at a time.
const assumedCPUUsage = 0.7

// CPUUsage measures the CPU usage between two samples, from the counters of the kernel. It is not
// safe for concurrent use.
type CPUUsage struct {
	proc      string // folder of the counters; on other systems than Linux there is none
	cgroup    fs.FS  // folder of the limits of containers
	last      cpuTimes
	sampledAt time.Time
}

// cpuTimes is CPU time since the start of the machine and of this process, in seconds.
type cpuTimes struct {
	machineBusy  float64 // all CPUs together
	machineTotal float64 // busy and idle
	process      float64
}

// NewCPUUsage returns a measurement that begins now.
func NewCPUUsage(proc string, cgroup fs.FS) *CPUUsage {
	u := &CPUUsage{proc: proc, cgroup: cgroup}
	u.Sample()
	return u
}

// Sample returns the CPU usage since the last sample, from 0 to 1. It is the usage of the machine,
// or of this process relative to the CPUs it may use, whichever is higher. It returns
// assumedCPUUsage if a counter cannot be read.
func (u *CPUUsage) Sample() float64 {
	last, elapsed := u.last, time.Since(u.sampledAt).Seconds()
	times, err := readCPUTimes(u.proc)
	u.last, u.sampledAt = times, time.Now()
	if err != nil || last.machineTotal == 0 || times.machineTotal <= last.machineTotal {
		return assumedCPUUsage
	}
	machineUsage := (times.machineBusy - last.machineBusy) / (times.machineTotal - last.machineTotal)
	processUsage := (times.process - last.process) / elapsed / usableCPUs(u.cgroup)
	return min(max(processUsage, machineUsage), 1)
}

// readCPUTimes reads the counters of the kernel. Time spent waiting for a disk counts as idle.
// Time that the host of a virtual machine took (stolen) counts as busy.
func readCPUTimes(proc string) (cpuTimes, error) {
	kernel, err := procfs.NewFS(proc)
	if err != nil {
		return cpuTimes{}, err
	}
	machine, machineErr := kernel.Stat()
	self, selfErr := kernel.Self()
	if err := errors.Join(machineErr, selfErr); err != nil {
		return cpuTimes{}, err
	}
	process, err := self.Stat()
	cpus := machine.CPUTotal
	busy := cpus.User + cpus.Nice + cpus.System + cpus.IRQ + cpus.SoftIRQ + cpus.Steal
	return cpuTimes{busy, busy + cpus.Idle + cpus.Iowait, process.CPUTime()}, err
}

// usableCPUs returns how many CPUs this process may use: the quota of its container (cgroups
// version 2 or 1), but at most GOMAXPROCS. Go rounds the quota up, to at least two, so
// GOMAXPROCS alone would make a fully used quota of one CPU look half idle.
func usableCPUs(cgroup fs.FS) float64 {
	var quota, period int64
	text, _ := fs.ReadFile(cgroup, "cpu.max")
	if n, _ := fmt.Sscan(string(text), &quota, &period); n < 2 { // "max" means no quota
		quota, period = readNumber(cgroup, "cpu/cpu.cfs_quota_us"), readNumber(cgroup, "cpu/cpu.cfs_period_us")
	}
	maxCPUs := float64(runtime.GOMAXPROCS(0))
	if quota <= 0 || period <= 0 {
		return maxCPUs
	}
	return min(maxCPUs, float64(quota)/float64(period))
}

// readNumber returns the number that a file consists of, or 0 if there is no such file or no
// number.
func readNumber(folder fs.FS, path string) (n int64) {
	text, _ := fs.ReadFile(folder, path)
	_, _ = fmt.Sscan(string(text), &n)
	return n
}
