package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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

	process
	t           testing.TB
	clusterPort int // port of a cluster node for the other nodes
}

// Stop shuts the server down gracefully. It does nothing if the server has stopped.
func (s *Server) Stop() { s.failTestOn(s.stop(syscall.SIGINT)) }

// Kill kills the server, as in a crash.
func (s *Server) Kill() { s.failTestOn(s.stop(syscall.SIGKILL)) }

// Restart starts the server again at its address and waits until it answers. If the server
// still runs, Restart stops it gracefully first. Redis is empty afterwards; PostgreSQL has
// what was committed.
func (s *Server) Restart() {
	s.Stop()
	deadline := time.Now().Add(processTimeout)
	err := s.start()
	for errors.Is(err, errProcessEnded) && time.Now().Before(deadline) {
		// The workers of a killed PostgreSQL live some ms longer and block the next server.
		time.Sleep(20 * time.Millisecond)
		err = s.start()
	}
	s.failTestOn(err)
}

// End ends a server that a program has started. It does nothing if the server has ended.
func (s *Server) End() error { return s.stop(syscall.SIGINT) }

// Pause stalls the server. It keeps its connections and answers nothing.
func (s *Server) Pause() { s.failTestOn(s.Signal(syscall.SIGSTOP)) }

// Resume continues a paused server.
func (s *Server) Resume() { s.failTestOn(s.Signal(syscall.SIGCONT)) }

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
		if err := s.stop(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return s
}

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
			lastErr = s.start()
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
