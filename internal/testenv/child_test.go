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
	process := child{path: "/bin/sh", args: []string{"-c", `trap "" TERM; echo ready; read -r line`}, log: log, ready: func(context.Context, int) error {
		if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "ready\n") {
			return os.ErrNotExist
		}
		return nil
	}}
	if err := process.start(); err != nil {
		t.Fatal(err)
	}
	process.timeout = 10 * time.Millisecond
	if err := process.stop(syscall.SIGTERM); err == nil || process.exitCode != -1 || process.cmd != nil {
		t.Errorf("stop: %v, exit code %d, want an error and -1", err, process.exitCode)
	}
}
