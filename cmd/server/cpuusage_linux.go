package main

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuUsage is of the processors, by what the kernel says.
type cpuUsage struct {
	root    fs.FS
	busy    time.Duration // of the machine
	total   time.Duration
	process time.Duration // of this process
	at      time.Time
}

func newCPUUsage() *cpuUsage {
	u := &cpuUsage{root: os.DirFS("/")}
	u.sample()
	return u
}

// sample is the share of the processors that were at work since the read before: those
// of the machine, or of what this process may use of them, which in a container is
// less. What cannot be read is taken for a machine with some to do.
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

// processors is how many this process may use at once: those that Go uses, or its share
// of a container, by cgroups of version 2 or 1, where that is less. Go rounds it up, and
// to two at least, so that one who has used all of one would seem half idle.
func processors(root fs.FS) float64 {
	var quota, period int64
	text, _ := fs.ReadFile(root, "sys/fs/cgroup/cpu.max")
	if n, _ := fmt.Sscan(string(text), &quota, &period); n < 2 { // "max" is no bound
		quota, period = readNumber(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us"), readNumber(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	usable := float64(runtime.GOMAXPROCS(0))
	if quota <= 0 || period <= 0 {
		return usable
	}
	return min(usable, float64(quota)/float64(period))
}

const kernelTick = 10 * time.Millisecond // on all architectures that Go knows

// machineTimes reads how long the processors have worked and been there: who waits for
// a disk does not work, what a host has taken does.
func machineTimes(root fs.FS) (busy, total time.Duration, err error) {
	raw, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, 0, err
	}
	var user, nice, system, idle, ioWait, hardIRQ, softIRQ, stolen int64 // the first line is of all of them
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
