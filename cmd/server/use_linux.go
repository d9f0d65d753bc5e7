package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// use is of the processors, by what the kernel says.
type use struct {
	work, all time.Duration // of the machine
	own       time.Duration // of this process
	at        time.Time
}

func newUse() *use {
	u := &use{}
	u.read()
	return u
}

// read is the share of the processors that were at work since the read before: those
// of the machine, or of what this process may use of them, which in a container is
// less. What cannot be read is taken for a machine with some to do.
func (u *use) read() float64 {
	work, all, err := ofMachine()
	own, also := ofProcess()
	now := time.Now()
	next := use{work: work, all: all, own: own, at: now}
	defer func() { *u = next }()
	if err != nil || also != nil || u.at.IsZero() || all <= u.all {
		return unknownUse
	}
	share := float64(own-u.own) / float64(now.Sub(u.at)) / float64(runtime.GOMAXPROCS(0))
	return min(max(share, float64(work-u.work)/float64(all-u.all)), 1)
}

const kernelTick = 10 * time.Millisecond // on all architectures that Go knows

// ofMachine reads how long the processors have worked and been there: who waits for
// a disk does not work, what a host has taken does.
func ofMachine() (work, all time.Duration, err error) {
	raw, err := os.ReadFile("/proc/stat")
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
