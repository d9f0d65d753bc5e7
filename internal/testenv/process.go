package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// processTimeout limits the start, and the graceful stop, of a server. Each takes less than
// a second on an idle machine.
const processTimeout = 30 * time.Second

// errProcessEnded means that a server process ended before it was ready.
var errProcessEnded = errors.New("it ended")

// process is a server process that ends with this process.
type process struct {
	path    string
	args    []string
	env     []string                                 // added to the environment of this process
	log     string                                   // the output is appended to this file
	user    *syscall.Credential                      // runs the process; nil: the user of this process
	timeout time.Duration                            // until it is ready, and until it ends after a signal; 0: processTimeout
	ready   func(ctx context.Context, pid int) error // returns nil once the server answers

	cmd      *exec.Cmd       // nil: the process does not run
	running  context.Context // ends when the process has ended
	exitCode int             // of the process that stop has ended; -1 after a kill
}

// start starts the program and waits until it is ready. If it returns an error, the process
// has ended.
func (p *process) start() error {
	out, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = killWithParent(p.user)
	if _, err := p.cmd.StdinPipe(); err != nil { // some programs end when their input ends
		return err
	}
	if err := launch(p.cmd); err != nil {
		p.cmd = nil
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	running, end := context.WithCancelCause(context.Background())
	p.running = running
	go awaitExit(p.cmd, end) // the method stop waits for it
	ctx, cancel := context.WithTimeout(running, cmp.Or(p.timeout, processTimeout))
	defer cancel()
	if err := Poll(ctx, 10*time.Millisecond, func() error { return p.ready(ctx, p.PID()) }); err != nil {
		_ = p.stop(syscall.SIGKILL)
		log := p.Log()
		return fmt.Errorf("%s is not ready: %w; its log ends: %s", p.path, err, log[max(0, len(log)-1000):])
	}
	return nil
}

// awaitExit calls end when the process has ended.
func awaitExit(cmd *exec.Cmd, end context.CancelCauseFunc) {
	_ = cmd.Wait()
	end(fmt.Errorf("%w: %s", errProcessEnded, cmd.ProcessState))
}

// stop sends the signal and waits for the end. After a timeout it kills the process.
func (p *process) stop(sig syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	_ = p.Signal(syscall.SIGCONT) // a paused process would not receive the signal
	_ = p.Signal(sig)
	limit := cmp.Or(p.timeout, processTimeout)
	killed := Pause(p.running, limit) == nil
	if killed {
		_ = p.Signal(syscall.SIGKILL)
		<-p.running.Done()
	}
	p.exitCode, p.cmd = p.cmd.ProcessState.ExitCode(), nil
	if !killed {
		return nil
	}
	return fmt.Errorf("%s did not end within %s of %s and was killed", p.path, limit, sig)
}

// Signal sends a signal to the running process.
func (p *process) Signal(sig syscall.Signal) error {
	if p.cmd == nil {
		return fmt.Errorf("%s does not run", p.path)
	}
	return p.cmd.Process.Signal(sig)
}

// Ended returns a channel that is closed when the process has ended.
func (p *process) Ended() <-chan struct{} { return p.running.Done() }

// PID returns the id of the running process.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Log returns everything that the process has logged and printed.
func (p *process) Log() string {
	text, _ := os.ReadFile(p.log) // a missing file is an empty log
	return string(text)
}

// Output runs a program, and returns what it prints without the white space around it. An error
// contains the end of all its output.
func Output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if all := string(out) + stderr.String(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, all[max(0, len(all)-1000):])
	}
	return strings.TrimSpace(string(out)), nil
}
