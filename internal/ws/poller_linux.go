package ws

import (
	"cmp"
	"errors"
	"os"
	"syscall"
	"time"
)

const canPoll = true

// maxEvents is how many events a poller reads per system call.
const maxEvents = 128

// poller waits for events of many sockets with its own epoll instance (epoll(7)). The Go
// runtime's poller watches the epoll instance. So waiting for events takes a goroutine
// and no thread.
type poller struct {
	file    *os.File
	rawConn syscall.RawConn // of file
	ended   chan struct{}   // closed when run has ended
}

func newPoller() (*poller, error) {
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
	return &poller{file, raw, make(chan struct{})}, nil
}

// requestEvent requests one event for a connection. The event comes when the connection
// has bytes to read or has ended, immediately if that is already so. The request replaces
// an earlier request for the connection. Closing the connection cancels it.
func (p *poller) requestEvent(conn syscall.RawConn, event uint64) error {
	epollEvent := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT,
		Fd:     int32(uint32(event)), Pad: int32(uint32(event >> 32)),
	}
	var ctlErr, connErr error
	epollErr := p.rawConn.Control(func(epoll uintptr) {
		connErr = conn.Control(func(fd uintptr) {
			ctlErr = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_MOD, int(fd), &epollEvent)
			if errors.Is(ctlErr, syscall.ENOENT) {
				ctlErr = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_ADD, int(fd), &epollEvent)
			}
		})
	})
	return cmp.Or(epollErr, connErr, ctlErr)
}

// run passes events to handle until close or a failure, and then calls onFailure. The
// caller waits for it with close.
func (p *poller) run(handle func([]uint64), onFailure func(*poller)) {
	defer close(p.ended)
	defer p.file.Close()
	defer onFailure(p)
	var ready [maxEvents]syscall.EpollEvent
	events := make([]uint64, 0, maxEvents)
	for {
		n, waitErr := 0, error(nil)
		err := p.rawConn.Read(func(fd uintptr) bool {
			n, waitErr = syscall.EpollWait(int(fd), ready[:], 0)
			return n != 0
		})
		if err != nil || waitErr != nil && !errors.Is(waitErr, syscall.EINTR) {
			return
		}
		events = events[:0]
		for _, epollEvent := range ready[:max(n, 0)] {
			events = append(events, uint64(uint32(epollEvent.Fd))|uint64(uint32(epollEvent.Pad))<<32)
		}
		handle(events)
	}
}

// close ends run and waits for it.
func (p *poller) close() {
	_ = p.file.Close() // no data can be lost
	<-p.ended
}
