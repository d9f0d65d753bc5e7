package checker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command runs the server's program. The subcommand and its flags follow Args. The
// program may end when its standard input ends.
type Command struct {
	Path string
	Args []string
	Env  []string // in addition to the environment of this process
}

// with returns the command with more arguments, in its own process group. An interrupt
// must reach only this program, which ends the nodes in order.
func (c Command) with(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, append(append([]string{}, c.Args...), args...)...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// node is a server process; after a fault a new process takes the same number.
type node struct {
	name    string
	command func() *exec.Cmd
	log     string // the log file of all its processes

	mu      sync.Mutex
	url     string
	cmd     *exec.Cmd
	held    io.Closer     // its standard input
	ended   chan struct{} // closed when the process has ended
	leaving bool          // the program has told it to end
}

// startWithin bounds the time until a process listens.
const startWithin = time.Minute

// start starts a process and waits until it listens.
func (n *node) start() error {
	log, err := os.OpenFile(n.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := n.command()
	cmd.Stderr = log
	held, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	slow := time.AfterFunc(startWithin, func() { _ = cmd.Process.Kill() })
	url := address(out)
	slow.Stop()
	ended := make(chan struct{})
	go func() { // the goroutine ends with the process
		_ = cmd.Wait()
		close(ended)
	}()
	if url == "" {
		_ = cmd.Process.Kill()
		<-ended
		return fmt.Errorf("%s did not start (%v): %s", n.name, cmd.ProcessState, n.tail())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.url, n.cmd, n.held, n.ended, n.leaving = url, cmd, held, ended, false
	return nil
}

// address reads the node's address from its output; it returns "" if there is none.
func address(out io.Reader) (url string) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			url = at
		}
		if strings.HasPrefix(lines.Text(), "operations on ") {
			return url
		}
	}
	return ""
}

func (n *node) address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.url
}

// signal sends a signal. A process that has ended ignores it.
func (n *node) signal(s syscall.Signal) { _ = n.cmd.Process.Signal(s) }

// end ends the process with a signal and returns its exit code, -1 after a kill.
func (n *node) end(s syscall.Signal) int {
	n.mu.Lock()
	n.leaving = true
	n.mu.Unlock()
	n.signal(s)
	slow := time.AfterFunc(startWithin, func() { n.signal(syscall.SIGKILL) })
	<-n.ended
	slow.Stop()
	_ = n.held.Close()
	return n.cmd.ProcessState.ExitCode()
}

// fell says whether the process has ended by itself.
func (n *node) fell() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil || n.leaving {
		return false
	}
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// tail returns the end of the node's log.
func (n *node) tail() string {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

func logPath(dir, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".log")
}
