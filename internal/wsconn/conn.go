package wsconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"laststand/internal/timer"
)

// Conn is the server's end of a websocket. One goroutine at a time may call ReadMessage and
// ParkSoon; all other methods are safe for concurrent use. The caller must call Close.
//
// A message that does not arrive in one piece must be complete within
// Config.MessageTimeout. Messages in one piece set at most one timer each Config.QuietAfter. A
// write sets no timer if the kernel accepts all bytes immediately.
type Conn struct {
	parker  *Parker
	conn    net.Conn
	rawConn syscall.RawConn // nil if the connection has none, as with TLS
	resume  func()
	parking uint64 // the number of its parking, 0 if it is not parked; Parker.mu guards it

	// The reading goroutine owns these fields.
	frames     frameReader
	readFunc   func(fd uintptr) bool
	readErr    error // the error of readFunc
	deadline   readDeadline
	gotMessage bool // a text or binary message since the last wait
	wasQuiet   bool // the client is quiet, or was before the last message
	parkSoon   bool // see ParkSoon

	writeMu      sync.Mutex
	pendingBytes []byte // bytes that writeFunc must still write
	writeFunc    func(fd uintptr) bool
	writeFailed  bool // a write failed, perhaps in the middle of a frame

	lastReceived atomic.Int64 // when the last message arrived, see timer.SinceStart

	mu      sync.Mutex
	closing bool // SendClose or Close was called: the read deadline must not change any more
}

// readDeadline is what the read deadline of a connection limits.
type readDeadline byte

const (
	noDeadline readDeadline = iota
	ofMessage               // the message under way
	ofQuiet                 // the wait for a message, after which the connection is quiet
)

// The errors of ReadMessage that need an answer, with ErrInvalidFrame and ErrTooLarge. After
// any other error the connection has ended.
var (
	// ErrSuspended means that the calling goroutine must end at once: another one
	// continues to read, now or later.
	ErrSuspended = errors.New("wsconn: another goroutine continues to read")
	// ErrMessageTimeout means that a message did not arrive within Config.MessageTimeout.
	ErrMessageTimeout = errors.New("wsconn: a message took too long to arrive")
)

// SilentFor returns how long ago the last message of the client arrived.
func (c *Conn) SilentFor() time.Duration {
	return timer.SinceStart() - time.Duration(c.lastReceived.Load())
}

func (c *Conn) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// waitAndRead waits until bytes have arrived and reads them. Between messages the reading
// goroutine waits only here, without a buffer and with a small stack.
func (c *Conn) waitAndRead() error {
	if c.rawConn == nil {
		return c.readBlocking()
	}
	if err := c.rawConn.Read(c.readFunc); err != nil {
		return err
	}
	return c.readErr
}

// readAvailable reads the bytes that have arrived. It returns false if there are none:
// the Go runtime calls it again when bytes arrive.
func (c *Conn) readAvailable(fd uintptr) bool {
	n, err := syscall.Read(int(fd), c.frames.freeSpace())
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(int(fd), c.frames.freeSpace())
	}
	if errors.Is(err, syscall.EAGAIN) {
		c.frames.releaseIfEmpty()
		return false
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	c.readErr = err
	c.frames.recordRead(max(n, 0))
	return true
}

// readBlocking is waitAndRead for a connection without rawConn. Between messages it reads a
// single byte, so that waiting needs no buffer.
func (c *Conn) readBlocking() error {
	buffer := make([]byte, 1)
	if c.frames.isMidMessage() {
		buffer = c.frames.freeSpace()
	}
	n, err := c.conn.Read(buffer)
	if n > 0 && c.frames.buffer == nil {
		c.frames.freeSpace()[0] = buffer[0]
	}
	c.frames.recordRead(n)
	if n > 0 {
		return nil // the next read returns the error again
	}
	return err
}

// setReadDeadline limits the next reads, unless the connection is closing.
func (c *Conn) setReadDeadline(kind readDeadline, wait time.Duration) {
	var at time.Time
	if kind != noDeadline {
		at = time.Now().Add(wait)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deadline = noDeadline; !c.closing {
		c.deadline = kind
		_ = c.conn.SetReadDeadline(at) // an error here also ends reading
	}
}

// readError returns the error of ReadMessage for an error of the connection.
func (c *Conn) readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.isClosing() {
		return ErrMessageTimeout
	}
	return err
}

// writeAll writes whole frames, usually without waiting. If the kernel accepts no more
// bytes, the client has a time limit to receive the rest. The caller holds writeMu.
func (c *Conn) writeAll(frames []byte) error {
	if frames = c.writeAvailable(frames); len(frames) == 0 {
		return nil
	}
	c.setWriteDeadline(time.Now().Add(c.parker.WriteTimeout))
	if _, err := c.conn.Write(frames); err != nil {
		return err
	}
	c.setWriteDeadline(time.Time{})
	return nil
}

// setWriteDeadline sets the write deadline, unless SendClose has set it.
func (c *Conn) setWriteDeadline(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		_ = c.conn.SetWriteDeadline(deadline) // an error here also ends writing
	}
}

// writeAvailable writes as many bytes as the kernel accepts without waiting, and returns
// the rest.
func (c *Conn) writeAvailable(frames []byte) []byte {
	if c.rawConn == nil {
		return frames
	}
	c.pendingBytes = frames
	_ = c.rawConn.Write(c.writeFunc) // writing the rest returns the error again
	frames, c.pendingBytes = c.pendingBytes, nil
	return frames
}

// writeOnce writes some of pendingBytes. It always returns true: the Go runtime must not call
// it again.
func (c *Conn) writeOnce(fd uintptr) bool {
	if n, err := syscall.Write(int(fd), c.pendingBytes); err == nil {
		c.pendingBytes = c.pendingBytes[n:]
	}
	return true
}
