package wsconn

import (
	"cmp"
	"errors"
	"os"
	"syscall"
	"time"
)

// maxEvents is how many events an epoll reads per system call.
const maxEvents = 128

// epoll waits for events of many sockets with an epoll instance (epoll(7)). The poller of
// the Go runtime watches the epoll instance. So waiting for events takes a goroutine
// and no thread.
type epoll struct {
	file    *os.File
	rawConn syscall.RawConn // of file
	ready   [maxEvents]syscall.EpollEvent
	events  []uint64
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
	return &epoll{file: file, rawConn: raw}, nil
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

// wait waits for events and returns their numbers. It returns an error after close or a
// failure. The result is valid until the next call.
func (e *epoll) wait() ([]uint64, error) {
	n, waitErr := 0, error(nil)
	err := e.rawConn.Read(func(fd uintptr) bool {
		n, waitErr = syscall.EpollWait(int(fd), e.ready[:], 0)
		return n != 0
	})
	if errors.Is(waitErr, syscall.EINTR) {
		return nil, nil
	}
	e.events = e.events[:0]
	for _, epollEvent := range e.ready[:max(n, 0)] {
		e.events = append(e.events, uint64(uint32(epollEvent.Fd))|uint64(uint32(epollEvent.Pad))<<32)
	}
	return e.events, cmp.Or(err, waitErr)
}

// close ends wait.
func (e *epoll) close() { _ = e.file.Close() } // no data can be lost
