package bench_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// held records for each second how long others delayed a process.
type held struct{ seconds map[int64]*second }

// second is what delayed a process in one second of the clock.
type second struct {
	longest, waited time.Duration // waits for a core, one and all; the longest may end in the next second
	stolen          time.Duration // from all cores, by the host of the virtual machine
	faults          int64         // pages read from a disk
}

// observe reads the Linux statistics of the Redis main thread every millisecond, until the
// caller calls stop.
func observe(b *testing.B, rdb *redis.Client) (stop func() held) {
	info, err := rdb.InfoMap(b.Context(), "server").Result()
	if err != nil {
		b.Fatal(err)
	}
	process := "/proc/" + info["Server"]["process_id"]
	before, err := readHeld(process)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan held, 1)
	go func() {
		h := held{make(map[int64]*second)}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if now, err := readHeld(process); err == nil {
				h.add(time.Now().Unix(), now.less(before))
				before = now
			}
			<-tick.C
		}
		ended <- h
	}()
	return func() held { cancel(); return <-ended }
}

// alone gives Redis the last core to itself, as it has one in production. This process gets
// the other cores. A new thread inherits the cores of the thread that starts it. On a
// machine with one core both share it.
func alone(b *testing.B, rdb *redis.Client) {
	cores := runtime.NumCPU()
	if cores < 2 {
		return
	}
	var its, ours unix.CPUSet
	its.Set(cores - 1)
	for core := range cores - 1 {
		ours.Set(core)
	}
	info, err := rdb.InfoMap(b.Context(), "server").Result()
	if err != nil {
		b.Fatal(err)
	}
	pin(b, info["Server"]["process_id"], &its)
	pin(b, "self", &ours)
}

// pin binds all threads of a process to a set of cores.
func pin(b *testing.B, process string, to *unix.CPUSet) {
	threads, err := os.ReadDir("/proc/" + process + "/task")
	if err != nil {
		b.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, to)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // the thread has ended
			b.Fatal(err)
		}
	}
}

// add adds the delays since the last reading.
func (h held) add(at int64, more second) {
	s := h.seconds[at]
	if s == nil {
		s = new(second)
		h.seconds[at] = s
	}
	s.longest = max(s.longest, more.waited)
	s.waited, s.stolen, s.faults = s.waited+more.waited, s.stolen+more.stolen, s.faults+more.faults
}

// at returns the delays in a second and the next one. A wait that starts in one second may
// end in the next.
func (h held) at(unix int64) (s second) {
	for _, one := range []*second{h.seconds[unix], h.seconds[unix+1]} {
		if one != nil {
			s.longest = max(s.longest, one.longest)
			s.waited, s.stolen, s.faults = s.waited+one.waited, s.stolen+one.stolen, s.faults+one.faults
		}
	}
	return s
}

func (s second) less(before second) second {
	return second{waited: s.waited - before.waited, stolen: s.stolen - before.stolen, faults: s.faults - before.faults}
}

func (s second) String() string {
	return fmt.Sprintf("in that second and the next it waited %s for a core, at once %s, the host took %s, pages read %d",
		s.waited.Round(time.Microsecond), s.longest.Round(time.Microsecond), s.stolen, s.faults)
}

// readHeld reads the waits of a process's main thread, its major faults, and the stolen
// time. See proc(5): schedstat, stat (12th field), and the machine's stat (cpu, 8th number,
// in ticks of 10 ms).
func readHeld(process string) (s second, err error) {
	var ran int64
	if err = scanFile(process+"/schedstat", "", &ran, &s.waited); err != nil {
		return s, err
	}
	var skip string
	if err = scanFile(process+"/stat", ") ", &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &s.faults); err != nil {
		return s, err
	}
	var ticks int64
	err = scanFile("/proc/stat", "cpu ", &skip, &skip, &skip, &skip, &skip, &skip, &skip, &ticks)
	s.stolen = time.Duration(ticks) * 10 * time.Millisecond
	return s, err
}

func scanFile(name, after string, into ...any) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := string(raw)
	_, err = fmt.Sscan(text[strings.Index(text, after)+len(after):], into...)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
