package main

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// use is of the processors, by what the kernel says.
type use struct {
	root fs.FS
	work time.Duration // of the machine
	all  time.Duration
	own  time.Duration // of this process
	at   time.Time
}

func newUse() *use {
	u := &use{root: os.DirFS("/")}
	u.read()
	return u
}

// read is the share of the processors that were at work since the read before: those
// of the machine, or of what this process may use of them, which in a container is
// less. What cannot be read is taken for a machine with some to do.
func (u *use) read() float64 {
	work, all, err := ofMachine(u.root)
	own, also := ofProcess()
	now := time.Now()
	next := use{root: u.root, work: work, all: all, own: own, at: now}
	defer func() { *u = next }()
	if err != nil || also != nil || u.at.IsZero() || all <= u.all {
		return unknownUse
	}
	share := float64(own-u.own) / float64(now.Sub(u.at)) / processors(u.root)
	return min(max(share, float64(work-u.work)/float64(all-u.all)), 1)
}

// processors is how many this process may use at once: those that Go uses, or its share
// of a container, by cgroups of version 2 or 1, where that is less. Go rounds it up, and
// to two at least, so that one who has used all of one would seem half idle.
func processors(root fs.FS) float64 {
	var quota, period int64
	text, _ := fs.ReadFile(root, "sys/fs/cgroup/cpu.max")
	if n, _ := fmt.Sscan(string(text), &quota, &period); n < 2 { // "max" is no bound
		quota, period = number(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us"), number(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")
	}
	most := float64(runtime.GOMAXPROCS(0))
	if quota <= 0 || period <= 0 {
		return most
	}
	return min(most, float64(quota)/float64(period))
}

const kernelTick = 10 * time.Millisecond // on all architectures that Go knows

// ofMachine reads how long the processors have worked and been there: who waits for
// a disk does not work, what a host has taken does.
func ofMachine(root fs.FS) (work, all time.Duration, err error) {
	raw, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return 0, 0, err
	}
	var user, nice, system, idle, disk, hard, soft, stolen int64 // the first line is of all of them
	if _, err = fmt.Sscanf(string(raw), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &disk, &hard, &soft, &stolen); err != nil {
		return 0, 0, fmt.Errorf("/proc/stat: %w", err)
	}
	worked := user + nice + system + hard + soft + stolen
	return time.Duration(worked) * kernelTick, time.Duration(worked+idle+disk) * kernelTick, nil
}

func ofProcess() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, err
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
