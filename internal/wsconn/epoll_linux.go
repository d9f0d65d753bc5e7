package wsconn

import (
	"cmp"
	"errors"
	"os"
	"syscall"
	"time"
)

const canPoll = true

// maxEvents is how many events an epoll reads per system call.
const maxEvents = 128

// epoll waits for events of many sockets with an epoll instance (epoll(7)). The poller of
// the Go runtime watches the epoll instance. So waiting for events takes a goroutine
// and no thread.
type epoll struct {
	file    *os.File
	rawConn syscall.RawConn // of file
	ended   chan struct{}   // closed when run has ended
}

func newEpoll() (*epoll, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // so that the runtime can poll it
		_ = syscall.Close(fd)
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "parked websockets")
	raw, err := file.SyscallConn()
	if err == nil {
		err = file.SetDeadline(time.Time{}) // an error if the runtime cannot poll it
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &epoll{file, raw, make(chan struct{})}, nil
}

// requestEvent requests one event for a connection. The event comes when the connection
// has bytes to read or has ended, immediately if that is already so. The request replaces
// an earlier request for the connection. Closing the connection cancels it.
func (e *epoll) requestEvent(conn syscall.RawConn, event uint64) error {
	epollEvent := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT,
		Fd:     int32(uint32(event)), Pad: int32(uint32(event >> 32)),
	}
	var ctlErr, connErr error
	epollErr := e.rawConn.Control(func(epollFD uintptr) {
		connErr = conn.Control(func(fd uintptr) {
			ctlErr = syscall.EpollCtl(int(epollFD), syscall.EPOLL_CTL_MOD, int(fd), &epollEvent)
			if errors.Is(ctlErr, syscall.ENOENT) {
				ctlErr = syscall.EpollCtl(int(epollFD), syscall.EPOLL_CTL_ADD, int(fd), &epollEvent)
			}
		})
	})
	return cmp.Or(epollErr, connErr, ctlErr)
}

// run passes events to the parker, and lets it search for quiet connections each
// CheckInterval, until close or a failure. After a failure it calls parker.unparkAll. The
// caller waits for it with close.
func (e *epoll) run(parker *Parker) {
	defer close(e.ended)
	defer e.file.Close()
	defer parker.unparkAll(e)
	var ready [maxEvents]syscall.EpollEvent
	events := make([]uint64, 0, maxEvents)
	var nextCheck time.Time
	for {
		if now := time.Now(); !now.Before(nextCheck) {
			parker.interruptQuiet()
			nextCheck = now.Add(parker.CheckInterval)
			if e.file.SetReadDeadline(nextCheck) != nil {
				return
			}
		}
		n, waitErr := 0, error(nil)
		err := e.rawConn.Read(func(fd uintptr) bool {
			n, waitErr = syscall.EpollWait(int(fd), ready[:], 0)
			return n != 0
		})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil || waitErr != nil && !errors.Is(waitErr, syscall.EINTR) {
			return
		}
		events = events[:0]
		for _, epollEvent := range ready[:max(n, 0)] {
			events = append(events, uint64(uint32(epollEvent.Fd))|uint64(uint32(epollEvent.Pad))<<32)
		}
		parker.handleEvents(events)
	}
}

// close ends run and waits for it.
func (e *epoll) close() {
	_ = e.file.Close() // no data can be lost
	<-e.ended
}
