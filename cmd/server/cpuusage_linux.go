package main

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuUsage measures the CPU usage from the counters of the kernel.
type cpuUsage struct {
	root    fs.FS
	busy    time.Duration // CPU time of the machine
	total   time.Duration
	process time.Duration // CPU time of this process
	at      time.Time
}

func newCPUUsage() *cpuUsage {
	u := &cpuUsage{root: os.DirFS("/")}
	u.sample()
	return u
}

// sample returns the CPU usage since the last sample, 0 to 1: that of the machine, or that of
// this process relative to its container quota, whichever is higher. It returns
// assumedCPUUsage if a counter cannot be read.
func (u *cpuUsage) sample() float64 {
	busy, total, err := machineTimes(u.root)
	process, processErr := processTime()
	now := time.Now()
	next := cpuUsage{root: u.root, busy: busy, total: total, process: process, at: now}
	defer func() { *u = next }()
	if err != nil || processErr != nil || u.at.IsZero() || total <= u.total {
		return assumedCPUUsage
	}
	share := float64(process-u.process) / float64(now.Sub(u.at)) / processors(u.root)
	return min(max(share, float64(busy-u.busy)/float64(total-u.total)), 1)
}

// processors returns how many CPUs this process may use: the quota of its container (cgroups
// version 2 or 1), but at most GOMAXPROCS. Go rounds the quota up, to at least two, so
// GOMAXPROCS alone would make a fully used quota of one CPU look half idle.
func processors(root fs.FS) float64 {
	var quota, period int64
	text, _ := fs.ReadFile(root, "sys/fs/cgroup/cpu.max")
	if n, _ := fmt.Sscan(string(text), &quota, &period); n < 2 { // "max" means no quota
		quota, period = readNumber(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us"), readNumber(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	usable := float64(runtime.GOMAXPROCS(0))
	if quota <= 0 || period <= 0 {
		return usable
	}
	return min(usable, float64(quota)/float64(period))
}

const kernelTick = 10 * time.Millisecond // on all architectures that Go supports

// machineTimes returns the busy and the total CPU time of the machine. Waiting for a disk
// counts as idle. Time that the host took (stolen) counts as busy.
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

func processTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
