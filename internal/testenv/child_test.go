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
	c := child{path: "/bin/sh", args: []string{"-c", `trap "" TERM; echo ready; read -r line`}, log: log, ready: func(context.Context, int) error {
		if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "ready\n") {
			return os.ErrNotExist
		}
		return nil
	}}
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	c.timeout = 10 * time.Millisecond
	if err := c.stop(syscall.SIGTERM); err == nil || c.exitCode != -1 || c.cmd != nil {
		t.Errorf("stop: %v, exit code %d, want an error and -1", err, c.exitCode)
	}
}
