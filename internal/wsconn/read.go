package wsconn

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

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

// prepareWait releases an empty buffer. If a message has started but is incomplete, it sets
// the message's deadline.
func (c *Conn) prepareWait() {
	c.frames.releaseIfEmpty()
	if c.frames.isMidMessage() && !c.hasDeadline {
		c.setMessageDeadline(time.Now().Add(c.parker.MessageTimeout))
	}
}

// setMessageDeadline sets when reading fails; the zero time removes the deadline.
func (c *Conn) setMessageDeadline(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasDeadline, c.interrupted = !deadline.IsZero(), false
	if !c.closing {
		_ = c.conn.SetReadDeadline(deadline) // an error here also ends reading
	}
}

// interrupt ends a waiting read so that the connection parks, unless a message is
// incomplete or the connection is closing.
func (c *Conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing && !c.hasDeadline {
		c.interrupted = true
		_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // an error here also ends reading
	}
}

// clearInterrupt returns true if interrupt may have caused this error. The caller then
// reads again: if the error had another reason, it occurs again.
func (c *Conn) clearInterrupt(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interrupted || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.interrupted, c.wasQuiet = false, true
	if !c.closing {
		_ = c.conn.SetReadDeadline(time.Time{}) // an error here also ends reading
	}
	return true
}

// readError returns the error of ReadMessage for an error of the connection.
func (c *Conn) readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.isClosing() {
		return ErrMessageTimeout
	}
	return err
}
