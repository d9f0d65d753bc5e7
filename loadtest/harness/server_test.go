package harness

import (
	"os/exec"
	"testing"
	"time"
)

// A program that ignores the request to end is killed and waited for.
func TestEnd(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" TERM; echo ready; read -r line`)
	held, err := cmd.StdinPipe() // the program waits for this
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
	if _, err := out.Read(make([]byte, 6)); err != nil { // from now on the program ignores signals
		t.Fatal(err)
	}
	end(cmd, 10*time.Millisecond)
	if state := cmd.ProcessState; state == nil || state.Success() {
		t.Errorf("it ended with %v", state)
	}
}
