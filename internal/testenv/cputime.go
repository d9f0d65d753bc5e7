package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit in which Linux reports process times, on all architectures that Go
// supports.
const clockTick = 10 * time.Millisecond

// CPUTime returns the processor time that a process has used.
func CPUTime(pid int) (time.Duration, error) {
	_, ownTime, _, err := processTimes(pid)
	return ownTime, err
}

// CPUTimeWithChildren returns the processor time that a process and its children have used.
// It includes children that have ended.
func CPUTimeWithChildren(pid int) (time.Duration, error) {
	_, ownTime, endedChildrenTime, err := processTimes(pid)
	if err != nil {
		return 0, err
	}
	total := ownTime + endedChildrenTime
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		child, _ := strconv.Atoi(filepath.Base(folder))
		if parent, ownTime, _, err := processTimes(child); err == nil && parent == pid { // on an error the process has just ended
			total += ownTime
		}
	}
	return total, nil
}

// processTimes returns the parent of a process, its processor time, and the processor time
// of its children that have ended.
func processTimes(pid int) (parent int, ownTime, endedChildrenTime time.Duration, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:])) // field 3 and later
	var user, system, endedUser, endedSystem int64
	_, err = fmt.Sscan(fields[1]+" "+strings.Join(fields[11:15], " "), &parent, &user, &system, &endedUser, &endedSystem)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("stat of process %d: %w", pid, err)
	}
	return parent, time.Duration(user+system) * clockTick, time.Duration(endedUser+endedSystem) * clockTick, nil
}

// MachineTime is the processor time of all cores of the machine so far.
type MachineTime struct {
	Busy, Idle            time.Duration
	SoftInterrupt, Stolen time.Duration // parts of Busy; Stolen is what the host took from a virtual machine
}

// Sub returns the time since an earlier reading.
func (m MachineTime) Sub(earlier MachineTime) MachineTime {
	return MachineTime{m.Busy - earlier.Busy, m.Idle - earlier.Idle, m.SoftInterrupt - earlier.SoftInterrupt, m.Stolen - earlier.Stolen}
}

// ReadMachineTime reads the times of the machine. Time in which a process waits for a disk
// counts as idle.
func ReadMachineTime() (m MachineTime, err error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, err
	}
	var user, nice, system, idle, disk, hard, soft, stolen int64 // the first line, for all cores
	_, err = fmt.Sscanf(string(raw), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &disk, &hard, &soft, &stolen)
	if err != nil {
		return m, fmt.Errorf("/proc/stat: %w", err)
	}
	ticks := func(n int64) time.Duration { return time.Duration(n) * clockTick }
	return MachineTime{ticks(user + nice + system + hard + soft + stolen), ticks(idle + disk), ticks(soft), ticks(stolen)}, nil
}

// ResidentBytes returns the resident memory of a process.
func ResidentBytes(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	_, err = fmt.Sscan(string(raw), &size, &resident)
	return resident * int64(os.Getpagesize()), err
}
