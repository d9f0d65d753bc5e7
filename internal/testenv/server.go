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

// Server is a running server of one test. Its methods are for fault tests, are
// called by the test's goroutine one at a time, and return once done.
type Server struct {
	URL  string // as for --redis or --database
	Addr string // host:port, the same again after Restart

	t     testing.TB
	child child
	bus   int // the port of a cluster node for the other nodes
}

// Stop ends the server in order. Stopping a stopped one does nothing.
func (s *Server) Stop() { s.must(s.child.stop(syscall.SIGINT)) }

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() { s.must(s.child.stop(syscall.SIGKILL)) }

// Restart starts the server again at its address and waits until it answers,
// after ending it in order if it still runs. Redis comes back empty, PostgreSQL
// with what was committed.
func (s *Server) Restart() {
	s.Stop()
	tooLate := time.Now().Add(processTimeout)
	err := s.child.start()
	for errors.Is(err, errEnded) && time.Now().Before(tooLate) {
		// The workers of a killed PostgreSQL outlive it by some ms and keep the next one out.
		time.Sleep(20 * time.Millisecond)
		err = s.child.start()
	}
	s.must(err)
}

// Pause stalls the server: it keeps its connections and answers nothing.
func (s *Server) Pause() { s.must(s.child.signal(syscall.SIGSTOP)) }

// Resume lets a paused server go on.
func (s *Server) Resume() { s.must(s.child.signal(syscall.SIGCONT)) }

func (s *Server) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

// owned makes the server t's: it ends with it.
func (s *Server) owned(t testing.TB) *Server {
	s.t = t
	t.Cleanup(func() {
		if err := s.child.stop(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return s
}

// errEnded means that a server ended instead of getting ready.
var errEnded = errors.New("it ended")

// errTaken means that another process had the port first.
var errTaken = errors.New("the port is another's")

// startOnFreePort tries a few ports, since one that is free when looked at may
// be taken by the time that the server binds it.
func startOnFreePort(start func(port int) (*Server, error)) (*Server, error) {
	var last error
	for range 5 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := start(port)
		if err == nil {
			return s, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no server on five ports, the last time: %w", last)
}

// freePort draws from below the range that the system gives to outgoing
// connections, so that a port stays free over a restart.
func freePort() (int, error) {
	for range 100 {
		port := 18000 + rand.IntN(14000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port on 127.0.0.1 between 18000 and 32000")
}
