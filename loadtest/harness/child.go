package harness

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Child is this program once more, in a process of its own. What is written goes to
// its standard input, with which it is to end; what it fails by goes to ours.
type Child struct {
	io.WriteCloser
	out io.Reader
	cmd *exec.Cmd
}

// StartChild starts this program again with some arguments. It is in a process
// group of its own, since an interrupt is for the parent, and is killed when ctx
// ends.
func StartChild(ctx context.Context, arguments ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, arguments...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Child{WriteCloser: in, out: out, cmd: cmd}, cmd.Start()
}

// Output is what the child says.
func (c *Child) Output() io.Reader { return c.out }

// ID is the id of its process.
func (c *Child) ID() int { return c.cmd.Process.Pid }

// Kill ends it at once.
func (c *Child) Kill() error { return c.cmd.Process.Kill() }

// End ends its input, if that was not done, and waits for it.
func (c *Child) End() error {
	err := c.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, c.cmd.Wait())
}
