package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux reports process times, on all architectures that Go
// supports.
const tick = 10 * time.Millisecond

// CPU is the processor time that each part of a run has used so far.
type CPU struct{ Server, Redis, Clients time.Duration }

// CPU reads the processor time of the server, of its redis-server if it has one, and of
// this process.
func (s *Server) CPU() (c CPU, err error) {
	if c.Clients, err = Taken("self"); err != nil {
		return c, err
	}
	for _, cmd := range s.running {
		of := &c.Server
		if strings.HasSuffix(cmd.Path, "redis-server") {
			of = &c.Redis
		}
		if *of, err = Taken(fmt.Sprint(cmd.Process.Pid)); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Less returns the processor time used since an earlier reading.
func (c CPU) Less(since CPU) CPU {
	return CPU{c.Server - since.Server, c.Redis - since.Redis, c.Clients - since.Clients}
}

// Taken returns the processor time of a process, by its id or "self".
func Taken(process string) (time.Duration, error) {
	u, err := stat(process)
	return u.taken, err
}

// Family returns the processor time of a process and its children, including children
// that have ended.
func Family(pid int) (time.Duration, error) {
	parent, err := stat(strconv.Itoa(pid))
	if err != nil {
		return 0, err
	}
	total := parent.taken + parent.ended
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, process := range all {
		child, err := stat(filepath.Base(process))
		if err == nil && child.parent == pid { // on an error the process has just ended
			total += child.taken
		}
	}
	return total, nil
}

// usage is the processor time that Linux reports for a process.
type usage struct {
	parent       int
	taken, ended time.Duration // of the process itself; of its children that have ended
}

// stat reads the parent and the times in user and kernel mode. These are fields 4 and 14
// to 17, counted from behind the program's name.
func stat(process string) (u usage, err error) {
	raw, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var user, system, usersEnded, systemEnded int64
	_, err = fmt.Sscan(fields[1]+" "+strings.Join(fields[11:15], " "), &u.parent, &user, &system, &usersEnded, &systemEnded)
	if err != nil {
		return u, fmt.Errorf("stat of process %s: %w", process, err)
	}
	u.taken, u.ended = time.Duration(user+system)*tick, time.Duration(usersEnded+systemEnded)*tick
	return u, nil
}

// Machine is the processor time of all cores of the machine so far.
type Machine struct {
	Busy, Idle   time.Duration
	Soft, Stolen time.Duration // parts of Busy: soft interrupts, and time that the host took
}

// Less returns the times since an earlier reading.
func (m Machine) Less(since Machine) Machine {
	return Machine{m.Busy - since.Busy, m.Idle - since.Idle, m.Soft - since.Soft, m.Stolen - since.Stolen}
}

// ReadMachine reads the times of the machine. Time in which a process waits for a disk
// counts as idle. Time that the host took from a core counts as busy.
func ReadMachine() (m Machine, err error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, err
	}
	var user, nice, system, idle, disk, hard, soft, stolen int64 // the first line, for all cores
	_, err = fmt.Sscanf(string(raw), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &disk, &hard, &soft, &stolen)
	if err != nil {
		return m, fmt.Errorf("/proc/stat: %w", err)
	}
	ticks := func(n int64) time.Duration { return time.Duration(n) * tick }
	return Machine{ticks(user + nice + system + hard + soft + stolen), ticks(idle + disk), ticks(soft), ticks(stolen)}, nil
}
