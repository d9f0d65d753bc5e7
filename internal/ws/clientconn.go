package ws

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// clientConn is a session's connection. While no bytes arrive it has no read buffer, and
// the goroutine that reads it uses little stack.
//
// A message that does not arrive in one piece must be complete within messageTimeout.
// Otherwise reading fails and the server closes the session. A message in one piece sets
// no timer. A write sets no timer either, if the kernel accepts all bytes immediately.
type clientConn struct {
	net.Conn
	rawConn        syscall.RawConn // nil if the connection has none, as with TLS
	messageTimeout time.Duration

	// The reading goroutine owns these fields.
	reader      frameReader
	deadlineSet bool // the read deadline of a message under way is set; written under mu
	readFunc    func(fd uintptr) bool
	readErr     error // the error of readFunc

	// The writing goroutine owns these fields.
	pendingFrames []byte // bytes that are still to be written
	writeFunc     func(fd uintptr) bool

	closeSent   atomic.Bool // whether the close frame was sent
	mu          sync.Mutex
	closing     bool // the session is ending: the read deadline must not change any more
	interrupted bool // interrupt has ended the current read, so that the goroutine of an idle session can end
}

func newClientConn(netConn net.Conn, messageTimeout time.Duration) *clientConn {
	c := &clientConn{Conn: netConn, messageTimeout: messageTimeout}
	if sysConn, ok := netConn.(syscall.Conn); ok {
		c.rawConn, _ = sysConn.SyscallConn() // nil on an error
	}
	c.readFunc, c.writeFunc = c.readAvailable, c.writePending
	return c
}

// readMore waits until bytes have arrived and reads them into reader. The read loop waits
// only here, so that the stack of a waiting goroutine stays small.
func (c *clientConn) readMore() error {
	if c.rawConn == nil {
		return c.readMoreBlocking()
	}
	if err := c.rawConn.Read(c.readFunc); err != nil {
		return err
	}
	return c.readErr
}

// readAvailable reads the bytes that have arrived. It returns false if there are none:
// the Go runtime calls it again when bytes arrive.
func (c *clientConn) readAvailable(fd uintptr) bool {
	n, err := syscall.Read(int(fd), c.reader.freeSpace())
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(int(fd), c.reader.freeSpace())
	}
	if errors.Is(err, syscall.EAGAIN) {
		c.reader.releaseIfEmpty()
		return false
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	c.readErr = err
	c.reader.recordRead(max(n, 0))
	return true
}

// readMoreBlocking is readMore for a connection without rawConn. Between messages it
// reads a single byte, so that waiting needs no buffer. In the middle of a message it
// reads into the buffer.
func (c *clientConn) readMoreBlocking() error {
	buffer := make([]byte, 1)
	if c.reader.isMidMessage() {
		buffer = c.reader.freeSpace()
	}
	n, err := c.Read(buffer)
	if n > 0 && c.reader.buffer == nil {
		c.reader.freeSpace()[0] = buffer[0]
	}
	c.reader.recordRead(n)
	if n > 0 {
		return nil // the next read returns the error again
	}
	return err
}

// nextMessage returns the next complete message, as frameReader.nextMessage does. When a
// message is complete, it removes the read deadline, so that the next message has its
// full messageTimeout.
func (c *clientConn) nextMessage() (kind byte, payload []byte, err error) {
	kind, payload, err = c.reader.nextMessage()
	if kind != 0 && c.deadlineSet && c.reader.messageKind == 0 {
		c.setMessageDeadline(time.Time{})
	}
	return kind, payload, err
}

// prepareWait is called when all complete messages are handled, before readMore waits. It
// releases an empty buffer. If a message has started but is incomplete, it sets the
// message's deadline.
func (c *clientConn) prepareWait() {
	c.reader.releaseIfEmpty()
	if c.reader.isMidMessage() && !c.deadlineSet {
		c.setMessageDeadline(time.Now().Add(c.messageTimeout))
	}
}

// setMessageDeadline sets when reading fails; the zero time removes the deadline.
func (c *clientConn) setMessageDeadline(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadlineSet, c.interrupted = !deadline.IsZero(), false
	if !c.closing {
		_ = c.SetReadDeadline(deadline) // an error here also ends reading
	}
}

// interrupt makes a waiting readMore return an error, unless a message is incomplete or
// the session is ending.
func (c *clientConn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing && !c.deadlineSet {
		c.interrupted = true
		_ = c.SetReadDeadline(time.Unix(1, 0)) // an error here also ends reading
	}
}

// clearInterrupt returns true if interrupt may have caused this error of readMore. The
// caller then calls readMore again: if the error had another reason, it occurs again.
func (c *clientConn) clearInterrupt(err error) bool {
	if netErr, ok := errors.AsType[net.Error](err); !ok || !netErr.Timeout() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	wasInterrupted := c.interrupted
	c.interrupted = false
	if wasInterrupted && !c.closing {
		_ = c.SetReadDeadline(time.Time{}) // an error here also ends reading
	}
	return wasInterrupted
}

// SetDeadline sets the read and write deadlines. After a deadline other than zero,
// clientConn itself does not change the read deadline any more.
func (c *clientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = c.closing || !t.IsZero()
	return c.Conn.SetDeadline(t)
}

// writeAvailable writes as many bytes as the kernel accepts without waiting, and returns
// the rest.
func (c *clientConn) writeAvailable(frames []byte) []byte {
	if c.rawConn == nil {
		return frames
	}
	c.pendingFrames = frames
	_ = c.rawConn.Write(c.writeFunc) // writing the rest returns the error again
	frames, c.pendingFrames = c.pendingFrames, nil
	return frames
}

// writePending writes some of pendingFrames. It always returns true: the Go runtime must not
// call it again.
func (c *clientConn) writePending(fd uintptr) bool {
	if n, err := syscall.Write(int(fd), c.pendingFrames); err == nil {
		c.pendingFrames = c.pendingFrames[n:]
	}
	return true
}

// sendClose sends the close frame; a second call does nothing. From now on the client has
// closeTimeout to send its own close frame.
func (c *clientConn) sendClose(code int, reason string) {
	if !c.closeSent.CompareAndSwap(false, true) {
		return
	}
	wait := closeTimeout
	_ = c.SetWriteDeadline(time.Now().Add(closeTimeout)) // an error here also ends writing
	if _, err := c.Write(controlFrame(websocket.CloseMessage, string(websocket.FormatCloseMessage(code, reason)))); err != nil {
		wait = 0 // do not wait for the client
	}
	_ = c.SetDeadline(time.Now().Add(wait)) // this also ends a write under way; it fails if the connection has ended
}

// readUntilClose reads until the client's close frame or the end of the connection.
func (c *clientConn) readUntilClose() {
	for kind := byte(0); kind != websocket.CloseMessage; {
		var err error
		if kind, _, err = c.nextMessage(); errors.Is(err, errInvalidFrame) {
			return
		}
		if kind == 0 && c.readMore() != nil {
			return
		}
	}
}
