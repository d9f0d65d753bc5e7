package drill

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// child is a crowd in a process of its own, which ends with its input.
type child struct {
	io.WriteCloser
	cmd *exec.Cmd
	out io.Reader
}

// Child starts this program again, with an argument that has it obey package
// crowd on its standard input and output. It is in a process group of its own,
// since an interrupt is for the parent, and ends when its input does.
func Child(argument string) func(context.Context) (Process, error) {
	return func(ctx context.Context) (Process, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, self, argument)
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
		return &child{WriteCloser: in, cmd: cmd, out: out}, cmd.Start()
	}
}

// Output implements Process.
func (c *child) Output() io.Reader { return c.out }

// ID implements Process.
func (c *child) ID() int { return c.cmd.Process.Pid }

// Kill implements Process.
func (c *child) Kill() error { return c.cmd.Process.Kill() }

// End implements Process.
func (c *child) End() error { return errors.Join(c.Close(), c.cmd.Wait()) }
