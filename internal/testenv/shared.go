package testenv

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// shared is what the tests of a binary have in common: started by the first
// that asks, stopped by Main.
var shared struct {
	mu      sync.Mutex
	dir     string
	sweeper io.Closer
	swept   func() error
	stops   []func() error
}

// sharedDir is the folder of the binary's shared servers. A shell waits beside
// us and removes it when our end of its standard input closes, whichever way
// the binary ends. Others may enter it: PostgreSQL runs as another user.
func sharedDir() (string, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.dir != "" {
		return shared.dir, nil
	}
	dir, err := os.MkdirTemp("", "laststand-testenv-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	sweep := exec.Command("/bin/sh", "-c", `cat; for try in 1 2 3 4 5; do rm -rf "$0" && break; sleep 1; done`, dir)
	sweep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for us, not for it
	pipe, err := sweep.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := sweep.Start(); err != nil {
		return "", fmt.Errorf("start the sweeper of %s: %w", dir, err)
	}
	shared.dir, shared.sweeper, shared.swept = dir, pipe, sweep.Wait
	return dir, nil
}

// atEnd has Main call stop, the last one first.
func atEnd(stop func() error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.stops = append(shared.stops, stop)
}

// stopShared runs the functions that atEnd registered and removes the shared folder.
func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for i := len(shared.stops) - 1; i >= 0; i-- {
		if err := shared.stops[i](); err != nil {
			fmt.Fprintln(os.Stderr, "stop what the tests shared:", err)
		}
	}
	shared.stops = nil
	if shared.dir == "" {
		return
	}
	_ = shared.sweeper.Close()
	if err := shared.swept(); err != nil {
		fmt.Fprintf(os.Stderr, "remove %s: %v\n", shared.dir, err)
	}
	shared.dir = ""
}
