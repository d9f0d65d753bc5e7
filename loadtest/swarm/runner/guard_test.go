package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"laststand/internal/testenv"
)

// When the parent is gone, a guard ends the listed processes and removes the listed
// folders. It spares other processes that have since received the same ids.
func TestGuard(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "left")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	in, output := io.Pipe()
	guarding := make(chan struct{})
	go func() {
		defer close(guarding)
		Guard(in)
	}()
	start := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	ours, another := start(), start()
	for _, line := range []guardedItem{
		{Process: ours.Process.Pid, Since: startTicks(ours.Process.Pid)}, {Process: another.Process.Pid, Since: "1"}, {Folder: folder},
	} {
		if err := json.NewEncoder(output).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ours.Wait(); err == nil {
		t.Error("the process went on to its end")
	}
	<-guarding
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if startTicks(another.Process.Pid) == "" {
		t.Error("another process was ended")
	}
	_ = another.Process.Kill()
	_ = another.Wait()
}

// outputLog is a process that records its input.
type outputLog struct {
	Process
	bytes.Buffer
}

func (h *outputLog) Write(line []byte) (int, error) { return h.Buffer.Write(line) }

// The guard learns of each process before the next one starts, because the run may be
// killed at any time.
func TestSeenToAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Redis(t) // skips or fails if there is no Redis
	output := new(outputLog)
	if _, err := startEnvironment(t.Context(), Config{Binary: "false", Nodes: 1}, &guard{process: output}); err == nil {
		t.Fatal("a node was started that ends at once")
	}
	var one guardedItem
	if err := json.NewDecoder(&output.Buffer).Decode(&one); err != nil || one.Process == 0 || one.Since == "" {
		t.Errorf("the guard was told %+v of Redis: %v", one, err)
	}
	if one.isRunning() {
		t.Error("Redis still runs after the runner has ended")
	}
}
