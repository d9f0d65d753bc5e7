package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// guarded is a line that a guard is told: a process, and since when it runs, or
// a folder.
type guarded struct {
	Process int    `json:"process,omitempty"`
	Since   string `json:"since,omitempty"`
	Folder  string `json:"folder,omitempty"`
}

// Guard waits until its input ends and then ends what is left of the processes
// that it was told of there, and removes the folders: whoever started them may
// have been killed. It is the whole of a process.
func Guard(in io.Reader) {
	var all []guarded
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var one guarded
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			all = append(all, one)
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, one := range all {
			if one.runs() {
				_ = syscall.Kill(one.Process, signal)
			}
		}
		for until := time.Now().Add(graceful); slices.ContainsFunc(all, guarded.runs) && time.Now().Before(until); {
			time.Sleep(20 * time.Millisecond) // these are nobody's children any more
		}
	}
	for _, one := range all {
		if one.Folder != "" {
			_ = os.RemoveAll(one.Folder)
		}
	}
}

// graceful is how long a process may take to end in order.
const graceful = 3 * time.Second

// runs says whether the process is still the one that the guard was told of.
func (g guarded) runs() bool { return g.Since != "" && since(g.Process) == g.Since }

// since is when a process began, in ticks since the machine did; "": it has ended.
func since(process int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/stat")
	if err != nil {
		return ""
	}
	_, behind, _ := strings.Cut(string(raw), ") ")
	if fields := strings.Fields(behind); len(fields) > 19 && fields[0] != "Z" {
		return fields[19]
	}
	return ""
}

// guard has a guard see to what is on the stage, for as long as the result is
// open.
func (s *stage) guard(ctx context.Context, argument, folder string) (io.Closer, error) {
	p, err := Child(argument)(ctx)
	if err != nil {
		return nil, err
	}
	told := json.NewEncoder(p)
	for _, id := range s.processes() {
		if err := told.Encode(guarded{Process: id, Since: since(id)}); err != nil {
			return nil, err
		}
	}
	return closing{p}, told.Encode(guarded{Folder: folder})
}

// closing ends a process when it is closed.
type closing struct{ Process }

// Close implements io.Closer.
func (c closing) Close() error { return c.End() }
