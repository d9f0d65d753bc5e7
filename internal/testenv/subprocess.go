package testenv

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Subprocess is a second process of this program. Writes go to its standard input, and it
// must end when that input ends. Its standard error is ours.
type Subprocess struct {
	io.WriteCloser
	out io.Reader
	cmd *exec.Cmd
}

// StartSubprocess starts this program again with some arguments. The child has its own
// process group, because an interrupt must reach only the parent. It is killed when ctx ends.
func StartSubprocess(ctx context.Context, arguments ...string) (*Subprocess, error) {
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
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Subprocess{WriteCloser: in, out: out, cmd: cmd}, nil
}

// Output returns the child's standard output.
func (s *Subprocess) Output() io.Reader { return s.out }

// ID returns the id of its process.
func (s *Subprocess) ID() int { return s.cmd.Process.Pid }

// Kill kills the child at once.
func (s *Subprocess) Kill() error { return s.cmd.Process.Kill() }

// End closes the child's input, if it is still open, and waits for the child's end.
func (s *Subprocess) End() error {
	err := s.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return errors.Join(err, s.cmd.Wait())
}
