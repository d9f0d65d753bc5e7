package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// fastConn is the connection of an answering player. The library's client connects, says hello
// and joins over it. During a match fastConn itself reads and writes frames (RFC 6455,
// section 5). The library reads the socket twice for each batch of frames, which costs
// more than the rest of a client. fastConn is not safe for concurrent use.
type fastConn struct {
	net.Conn
	in       []byte    // the read buffer
	from, to int       // the unread part of it
	until    time.Time // the read deadline; zero: none
}

const (
	mostFrame  = 1 << 20 // of a server's frame
	finalBit   = 0x80
	maskBit    = 0x80
	textFrame  = 1
	closeFrame = 8
	ping       = 9
	pong       = 10
)

func newFastConn(c net.Conn) *fastConn { return &fastConn{Conn: c, in: make([]byte, readBuffer)} }

// Read implements net.Conn for the library. It returns one byte at a time, so that the
// library buffers nothing behind the frame that it reads.
func (l *fastConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if l.from == l.to {
		n, err := l.Conn.Read(l.in)
		if l.from, l.to = 0, n; n == 0 {
			return 0, err
		}
	}
	b[0] = l.in[l.from]
	l.from++
	return 1, nil
}

// lookAgain is how long a fastConn waits without a frame before it checks for the end.
const lookAgain = time.Second

// SetReadDeadline bounds all reads, by the library and by each.
func (l *fastConn) SetReadDeadline(at time.Time) error {
	l.until = at
	return l.Conn.SetReadDeadline(at)
}

// each passes the text of every frame to take, until take returns last. After a read
// that leaves room in the buffer it waits, because the socket reports new data. The
// system reports the end only once. If data came before it, both arrive as one event. So
// each also checks now and then.
func (l *fastConn) each(take func(text []byte) (last bool, err error)) error {
	raw, err := l.Conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	defer func() { _ = l.Conn.SetReadDeadline(l.until) }() // if this fails, the connection is closed
	for {
		if err = l.Conn.SetReadDeadline(l.next()); err != nil {
			return err
		}
		var done bool
		var failed error
		err = raw.Read(func(fd uintptr) bool {
			done, failed = l.drain(int(fd), take)
			return done || failed != nil
		})
		if done || failed != nil || !errors.Is(err, os.ErrDeadlineExceeded) || l.late() {
			return errors.Join(failed, err)
		}
	}
}

// next returns when each must check again, or when its deadline passes.
func (l *fastConn) next() time.Time {
	next := time.Now().Add(lookAgain)
	if !l.until.IsZero() && l.until.Before(next) {
		return l.until
	}
	return next
}

func (l *fastConn) late() bool { return !l.until.IsZero() && !time.Now().Before(l.until) }

// drain handles everything that the socket has.
func (l *fastConn) drain(fd int, take func([]byte) (bool, error)) (done bool, err error) {
	for {
		if done, err = l.deal(take); done || err != nil {
			return done, err
		}
		room := l.room()
		n, err := syscall.Read(fd, room)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return false, nil
		case err != nil || n == 0:
			return false, fmt.Errorf("read: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		if l.to += n; n < len(room) {
			return l.deal(take)
		}
	}
}

// room returns the free part of the buffer, behind the unread bytes.
func (l *fastConn) room() []byte {
	l.to = copy(l.in, l.in[l.from:l.to])
	l.from = 0
	if l.to == len(l.in) {
		l.in = slices.Grow(l.in, len(l.in))[:2*len(l.in)]
	}
	return l.in[l.to:]
}

// deal handles all complete frames in the buffer.
func (l *fastConn) deal(take func([]byte) (bool, error)) (done bool, err error) {
	for !done && err == nil {
		first, payload, whole := l.frame()
		if !whole {
			return false, nil
		}
		switch first {
		case finalBit | textFrame:
			done, err = take(payload)
		case finalBit | ping:
			err = l.write(pong, payload)
		case finalBit | closeFrame:
			err = fmt.Errorf("closed: %q", payload)
		default:
			err = fmt.Errorf("a frame that begins with %#x", first)
		}
	}
	return done, err
}

// frame removes the next frame from the buffer if it is complete. A masked or too large
// frame is not from a server; deal rejects it.
func (l *fastConn) frame() (first byte, payload []byte, whole bool) {
	b := l.in[l.from:l.to]
	if len(b) < 2 {
		return 0, nil, false
	}
	if b[1]&maskBit != 0 {
		return 0, nil, true
	}
	header, length := 2, uint64(b[1])
	switch length {
	case 126:
		header = 4
	case 127:
		header = 10
	}
	if len(b) < header {
		return 0, nil, false
	}
	switch header {
	case 4:
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	case 10:
		length = binary.BigEndian.Uint64(b[2:])
	}
	if length > mostFrame {
		return 0, nil, true
	}
	end := header + int(length)
	if len(b) < end {
		return 0, nil, false
	}
	l.from += end
	return b[0], b[header:end], true
}

// write sends a masked frame in a single write.
func (l *fastConn) write(kind byte, payload []byte) error {
	var frame [256]byte
	b := append(frame[:0], finalBit|kind)
	if len(payload) < 126 {
		b = append(b, maskBit|byte(len(payload)))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, maskBit|126), uint16(len(payload))) // requests and pongs are short
	}
	var key [4]byte
	binary.LittleEndian.PutUint32(key[:], rand.Uint32()) //nolint:gosec // no proxy is to be kept from anything here
	b = append(b, key[:]...)
	for i, c := range payload {
		b = append(b, c^key[i&3])
	}
	_, err := l.Write(b)
	return err
}
