package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// processTimeout limits the start, and the graceful stop, of a server. Each takes less than
// a second on an idle machine.
const processTimeout = 30 * time.Second

// child is a server process that ends with this process.
type child struct {
	path    string
	args    []string
	env     []string                                 // added to the environment of this process
	log     string                                   // the output is appended to this file
	user    *syscall.Credential                      // runs the process; nil: the user of this process
	timeout time.Duration                            // until it is ready, and until it ends after a signal; 0: processTimeout
	ready   func(ctx context.Context, pid int) error // returns nil once the server answers

	cmd      *exec.Cmd     // nil: the process does not run
	done     chan struct{} // closed when the process has ended
	exitCode int           // of the process that stop has ended; -1 after a kill
}

// start starts the program and waits until it is ready. If it returns an error, the process
// has ended.
func (c *child) start() error {
	out, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	c.cmd = exec.Command(c.path, c.args...)
	c.cmd.Env = append(os.Environ(), c.env...)
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = killWithParent(c.user)
	if _, err := c.cmd.StdinPipe(); err != nil { // some programs end when their input ends
		return err
	}
	if err := launch(c.cmd); err != nil {
		c.cmd = nil
		return fmt.Errorf("start %s: %w", c.path, err)
	}
	c.done = make(chan struct{})
	go c.awaitExit(c.cmd, c.done)
	if err := c.awaitReady(); err != nil {
		_ = c.stop(syscall.SIGKILL)
		return fmt.Errorf("%s is not ready: %w; its log ends: %s", c.path, err, c.logTail())
	}
	return nil
}

// awaitExit waits until the process has ended, and then closes done. The method stop waits for
// done.
func (c *child) awaitExit(cmd *exec.Cmd, done chan struct{}) {
	_ = cmd.Wait()
	close(done)
}

func (c *child) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.timeout, processTimeout))
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := c.ready(ctx, c.pid())
		if err == nil || errors.Is(err, errPortTaken) {
			return err
		}
		select {
		case <-c.done:
			return fmt.Errorf("%w: %s", errProcessEnded, c.cmd.ProcessState)
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// stop sends the signal and waits for the end. After a timeout it kills the process.
func (c *child) stop(sig syscall.Signal) error {
	if c.cmd == nil {
		return nil
	}
	_ = c.signal(syscall.SIGCONT) // a paused process would not receive the signal
	_ = c.signal(sig)
	limit := cmp.Or(c.timeout, processTimeout)
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	killed := false
	select {
	case <-c.done:
	case <-timeout.C:
		killed = true
		_ = c.signal(syscall.SIGKILL)
		<-c.done
	}
	c.exitCode, c.cmd = c.cmd.ProcessState.ExitCode(), nil
	if !killed {
		return nil
	}
	return fmt.Errorf("%s did not end within %s of %s and was killed", c.path, limit, sig)
}

func (c *child) signal(sig syscall.Signal) error {
	if c.cmd == nil {
		return fmt.Errorf("%s does not run", c.path)
	}
	return c.cmd.Process.Signal(sig)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) logTail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
}
