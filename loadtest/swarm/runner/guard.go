package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"laststand/internal/testenv"
)

// guardedItem is a line of the guard's input: a process and its start time, or a folder.
type guardedItem struct {
	Process int    `json:"process,omitempty"`
	Since   string `json:"since,omitempty"`
	Folder  string `json:"folder,omitempty"`
}

// Guard waits until its input ends. Then it ends the listed processes that still run,
// and removes the listed folders, because the program that started them may have been
// killed. It runs as a process of its own.
func Guard(in io.Reader) {
	var all []guardedItem
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var one guardedItem
		if json.Unmarshal(lines.Bytes(), &one) == nil {
			all = append(all, one)
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, one := range all {
			if one.isRunning() {
				_ = syscall.Kill(one.Process, signal)
			}
		}
		for until := time.Now().Add(graceful); slices.ContainsFunc(all, guardedItem.isRunning) && time.Now().Before(until); {
			time.Sleep(20 * time.Millisecond) // these are not children of this process
		}
	}
	for _, one := range all {
		if one.Folder != "" {
			_ = os.RemoveAll(one.Folder)
		}
	}
}

// graceful is how long a process may take to shut down.
const graceful = 3 * time.Second

// isRunning says whether the process id still belongs to the listed process.
func (g guardedItem) isRunning() bool { return g.Since != "" && startTicks(g.Process) == g.Since }

// startTicks returns when a process started, in clock ticks since the machine started; "":
// it has ended.
func startTicks(process int) string {
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

// guard is a running guard. It is safe for concurrent use.
type guard struct {
	mu      sync.Mutex
	process Process // nil: there is no guard
}

// startGuard starts the guard of a run. The guard keeps running when the run is
// interrupted, because the run may be killed while it ends what it started.
func (c Config) startGuard(ctx context.Context) (*guard, error) {
	if c.Guard == "" || len(c.Attach) > 0 {
		return new(guard), nil
	}
	p, err := testenv.StartSubprocess(context.WithoutCancel(ctx), c.Guard)
	if err != nil {
		return nil, err
	}
	g := &guard{process: p}
	if err := g.send(guardedItem{Folder: c.Folder}); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// add adds processes to the guard. Call it as soon as they run.
func (g *guard) add(processes ...int) error {
	for _, id := range processes {
		if err := g.send(guardedItem{Process: id, Since: startTicks(id)}); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) send(one guardedItem) error {
	if g.process == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return json.NewEncoder(g.process).Encode(one)
}

// Close makes the guard end what is left, and waits for it.
func (g *guard) Close() error {
	if g.process == nil {
		return nil
	}
	return g.process.End()
}
