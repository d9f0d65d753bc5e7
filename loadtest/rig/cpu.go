package rig

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// tick is the unit in which Linux tells the time of processes, on all
// architectures that Go knows.
const tick = 10 * time.Millisecond

// CPU is the processor time that the parts of a run have taken so far.
type CPU struct{ Server, Redis, Clients time.Duration }

// CPU reads what the server, its redis-server where it has one, and this
// process have taken.
func (s *Server) CPU() (c CPU, err error) {
	if c.Clients, err = taken("self"); err != nil {
		return c, err
	}
	for _, cmd := range s.running {
		of := &c.Server
		if strings.HasSuffix(cmd.Path, "redis-server") {
			of = &c.Redis
		}
		if *of, err = taken(fmt.Sprint(cmd.Process.Pid)); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Less is what was taken since.
func (c CPU) Less(since CPU) CPU {
	return CPU{c.Server - since.Server, c.Redis - since.Redis, c.Clients - since.Clients}
}

// taken reads a process's time in user and kernel mode: fields 14 and 15 of its
// stat, which are counted from behind the name of the program.
func taken(process string) (time.Duration, error) {
	raw, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		return 0, err
	}
	var user, system int64
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if _, err := fmt.Sscan(strings.Join(fields[11:13], " "), &user, &system); err != nil {
		return 0, fmt.Errorf("stat of process %s: %w", process, err)
	}
	return time.Duration(user+system) * tick, nil
}
