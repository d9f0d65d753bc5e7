package main

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuUsage measures the CPU usage between two samples, from the counters of the kernel. It is not
// safe for concurrent use.
type cpuUsage struct {
	root         fs.FS
	machineBusy  time.Duration // CPU time that the machine has worked, all CPUs together
	machineTotal time.Duration // CPU time of the machine, worked and idle
	processBusy  time.Duration // CPU time that this process has worked
	sampledAt    time.Time
}

func newCPUUsage() *cpuUsage {
	u := &cpuUsage{root: os.DirFS("/")}
	u.sample()
	return u
}

// sample returns the CPU usage since the last sample, from 0 to 1. It is the usage of the machine,
// or of this process relative to the CPUs it may use, whichever is higher. It returns
// assumedCPUUsage if a counter cannot be read.
func (u *cpuUsage) sample() float64 {
	busy, total, err := machineTimes(u.root)
	process, processErr := processTime()
	now := time.Now()
	latest := cpuUsage{root: u.root, machineBusy: busy, machineTotal: total, processBusy: process, sampledAt: now}
	defer func() { *u = latest }()
	if err != nil || processErr != nil || u.sampledAt.IsZero() || total <= u.machineTotal {
		return assumedCPUUsage
	}
	processUsage := float64(process-u.processBusy) / float64(now.Sub(u.sampledAt)) / usableCPUs(u.root)
	return min(max(processUsage, float64(busy-u.machineBusy)/float64(total-u.machineTotal)), 1)
}

// usableCPUs returns how many CPUs this process may use: the quota of its container (cgroups
// version 2 or 1), but at most GOMAXPROCS. Go rounds the quota up, to at least two, so
// GOMAXPROCS alone would make a fully used quota of one CPU look half idle.
func usableCPUs(root fs.FS) float64 {
	var quota, period int64
	text, _ := fs.ReadFile(root, "sys/fs/cgroup/cpu.max")
	if n, _ := fmt.Sscan(string(text), &quota, &period); n < 2 { // "max" means no quota
		quota, period = readNumberFile(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us"), readNumberFile(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	maxCPUs := float64(runtime.GOMAXPROCS(0))
	if quota <= 0 || period <= 0 {
		return maxCPUs
	}
	return min(maxCPUs, float64(quota)/float64(period))
}

// kernelTick is the unit of the counters in /proc/stat.
const kernelTick = 10 * time.Millisecond // on all architectures that Go supports

// machineTimes returns the busy and the total CPU time of the machine since its start. Time spent
// waiting for a disk counts as idle. Time that the host of a virtual machine took (stolen) counts
// as busy.
func machineTimes(root fs.FS) (busy, total time.Duration, err error) {
	raw, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, 0, err
	}
	var user, nice, system, idle, ioWait, hardIRQ, softIRQ, stolen int64 // the first line sums up all CPUs
	if _, err = fmt.Sscanf(string(raw), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &ioWait, &hardIRQ, &softIRQ, &stolen); err != nil {
		return 0, 0, fmt.Errorf("/proc/stat: %w", err)
	}
	worked := user + nice + system + hardIRQ + softIRQ + stolen
	return time.Duration(worked) * kernelTick, time.Duration(worked+idle+ioWait) * kernelTick, nil
}

// processTime returns the CPU time of this process since its start.
func processTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
