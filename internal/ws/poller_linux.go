package ws

import (
	"cmp"
	"errors"
	"os"
	"syscall"
	"time"
)

const canPoll = true

// atOnce is how many events a poller takes in one go.
const atOnce = 128

// poller is an epoll instance of our own (epoll(7)), beside that of the runtime,
// which polls this one: who waits for events is a goroutine, and no thread.
type poller struct {
	file  *os.File
	raw   syscall.RawConn // of file
	ended chan struct{}
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil { // so that the runtime polls it
		_ = syscall.Close(fd)
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "sleeping websockets")
	raw, err := file.SyscallConn()
	if err == nil {
		err = file.SetDeadline(time.Time{}) // where it does not
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &poller{file, raw, make(chan struct{})}, nil
}

// arm has an event come, once, when there is something to read, or its end, of a
// connection: at once where that is so already. What was armed before counts no
// longer; closing the connection undoes it.
func (p *poller) arm(conn syscall.RawConn, event uint64) error {
	e := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT,
		Fd:     int32(uint32(event)), Pad: int32(uint32(event >> 32)),
	}
	var failed, gone error
	closed := p.raw.Control(func(epoll uintptr) {
		gone = conn.Control(func(fd uintptr) {
			failed = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_MOD, int(fd), &e)
			if errors.Is(failed, syscall.ENOENT) {
				failed = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_ADD, int(fd), &e)
			}
		})
	})
	return cmp.Or(closed, gone, failed)
}

// run hands events over, until close or a failure, which it tells.
func (p *poller) run(wake func([]uint64), failed func(*poller)) {
	defer close(p.ended)
	defer p.file.Close()
	defer failed(p)
	var came [atOnce]syscall.EpollEvent
	events := make([]uint64, 0, atOnce)
	for {
		n, wrong := 0, error(nil)
		err := p.raw.Read(func(fd uintptr) bool {
			n, wrong = syscall.EpollWait(int(fd), came[:], 0)
			return n != 0
		})
		if err != nil || wrong != nil && !errors.Is(wrong, syscall.EINTR) {
			return
		}
		events = events[:0]
		for _, e := range came[:max(n, 0)] {
			events = append(events, uint64(uint32(e.Fd))|uint64(uint32(e.Pad))<<32)
		}
		wake(events)
	}
}

// close ends run, and waits for that.
func (p *poller) close() {
	_ = p.file.Close() // of what was polled nothing is left to be lost
	<-p.ended
}
