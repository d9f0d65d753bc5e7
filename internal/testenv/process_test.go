package testenv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that ignores the request to stop is killed after the timeout.
func TestStopKillsAProcessThatIgnoresTheSignal(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	p := process{path: "/bin/sh", args: []string{"-c", `trap "" TERM; echo ready; read -r line`}, log: log, ready: func(context.Context, int) error {
		if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "ready\n") {
			return os.ErrNotExist
		}
		return nil
	}}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	p.timeout = 10 * time.Millisecond
	if err := p.stop(syscall.SIGTERM); err == nil || p.exitCode != -1 || p.cmd != nil {
		t.Errorf("stop: %v, exit code %d, want an error and -1", err, p.exitCode)
	}
}
