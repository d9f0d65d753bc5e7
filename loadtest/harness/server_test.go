package harness

import (
	"os/exec"
	"testing"
	"time"
)

// A program that does not end when it is told to is ended, and waited for.
func TestEnd(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" TERM; echo ready; read -r line`)
	held, err := cmd.StdinPipe() // what it waits for
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil { // from now on it is deaf
		t.Fatal(err)
	}
	end(cmd, 10*time.Millisecond)
	if state := cmd.ProcessState; state == nil || state.Success() {
		t.Errorf("it ended with %v", state)
	}
}
