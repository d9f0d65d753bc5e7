package harness

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Child is a second process of this program. Writes go to its standard input, and it
// must end when that input ends. Its standard error is ours.
type Child struct {
	io.WriteCloser
	out io.Reader
	cmd *exec.Cmd
}

// StartChild starts this program again with some arguments. The child has its own
// process group, because an interrupt is for the parent. It is killed when ctx ends.
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

// Output returns the child's standard output.
func (c *Child) Output() io.Reader { return c.out }

// ID returns the id of its process.
func (c *Child) ID() int { return c.cmd.Process.Pid }

// Kill kills the child at once.
func (c *Child) Kill() error { return c.cmd.Process.Kill() }

// End closes the child's input, if it is still open, and waits for the child.
func (c *Child) End() error {
	err := c.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, c.cmd.Wait())
}
