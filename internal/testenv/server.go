package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a running Redis or PostgreSQL of one test. Its methods are for tests of faults.
// Only the test's goroutine may call them. If they fail, the test fails.
type Server struct {
	URL  string // value for --redis or --database
	Addr string // host:port, unchanged by Restart

	t           testing.TB
	child       child
	clusterPort int // port of a cluster node for the other nodes
}

// Stop shuts the server down gracefully. It does nothing if the server has stopped.
func (s *Server) Stop() { s.failTestOn(s.child.stop(syscall.SIGINT)) }

// Kill kills the server, as in a crash.
func (s *Server) Kill() { s.failTestOn(s.child.stop(syscall.SIGKILL)) }

// Restart starts the server again at its address and waits until it answers. If the server
// still runs, Restart stops it gracefully first. Redis is empty afterwards; PostgreSQL has
// what was committed.
func (s *Server) Restart() {
	s.Stop()
	deadline := time.Now().Add(processTimeout)
	err := s.child.start()
	for errors.Is(err, errProcessEnded) && time.Now().Before(deadline) {
		// The workers of a killed PostgreSQL live some ms longer and block the next server.
		time.Sleep(20 * time.Millisecond)
		err = s.child.start()
	}
	s.failTestOn(err)
}

// Pause stalls the server. It keeps its connections and answers nothing.
func (s *Server) Pause() { s.failTestOn(s.child.signal(syscall.SIGSTOP)) }

// Resume continues a paused server.
func (s *Server) Resume() { s.failTestOn(s.child.signal(syscall.SIGCONT)) }

func (s *Server) failTestOn(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

// ownedBy makes t the owner of a server that was started for it: the server is killed when t ends. A
// failed start fails the test.
func ownedBy(t testing.TB, s *Server, err error) *Server {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.child.stop(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return s
}

// errProcessEnded means that a server process ended before it was ready.
var errProcessEnded = errors.New("it ended")

// errPortTaken means that another process has taken the port. The server ends for the same reason.
var errPortTaken = errors.New("another process has the port")

// startOnFreePort starts a server on a free port, which ends with this process. Another process
// may take the port before the server binds it, so it tries up to five ports. configure sets the
// URL and the process.
func startOnFreePort(configure func(s *Server, port int) error) (*Server, error) {
	var lastErr error
	for range 5 {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		if lastErr = configure(s, port); lastErr == nil {
			lastErr = s.child.start()
		}
		if lastErr == nil {
			onExit(s.End)
			return s, nil
		}
	}
	return nil, fmt.Errorf("no server on five ports; the last error: %w", lastErr)
}

// FreePort chooses a loopback port below the range of outgoing connections, so that the port stays
// free during a restart.
func FreePort() (int, error) {
	for range 100 {
		port := 18000 + rand.IntN(14000)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no free port on 127.0.0.1 between 18000 and 32000")
}

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
		if err == nil {
			return nil
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

// PID returns the id of the running server's process.
func (s *Server) PID() int { return s.child.pid() }

// End ends a server that a program has started. It does nothing if the server has ended.
func (s *Server) End() error { return s.child.stop(syscall.SIGINT) }

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) logTail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
}
