package wsconn

import (
	"errors"
	"io"
	"os"
	"time"

	"laststand/internal/timer"
)

// ReadMessage waits for the next message. If it returns ErrSuspended, the calling goroutine
// must end; the connection later calls resume in a new one. It replies to a close frame
// of the client and then returns io.EOF.
func (c *Conn) ReadMessage() (Message, error) {
	for {
		message, err := c.nextMessage()
		if err != nil || message.Kind != 0 {
			return message, err
		}
		c.frames.releaseIfEmpty()
		if c.suspend() {
			return Message{}, ErrSuspended
		}
		c.limitWait()
		if err := c.waitAndRead(); err != nil && !c.endQuietWait(err) {
			return Message{}, c.readError(err)
		}
	}
}

// ParkSoon asks the connection to park as soon as no message is left.
func (c *Conn) ParkSoon() { c.parkSoon = true }

// nextMessage returns the next message that has arrived, with Kind 0 if none is complete.
func (c *Conn) nextMessage() (Message, error) {
	message, err := c.frames.nextMessage()
	if err != nil || message.Kind == 0 {
		return message, err
	}
	if c.deadline == ofMessage && !c.frames.isFragmented() {
		c.setReadDeadline(noDeadline, 0) // the next message has its full time
	}
	if message.Kind == closeFrame {
		code, err := parseCloseCode(message.Payload)
		if err == nil {
			c.SendClose(code, "")
			err = io.EOF
		}
		return Message{}, err
	}
	now := timer.SinceStart()
	c.wasQuiet = c.wasQuiet || now-time.Duration(c.lastReceived.Load()) >= c.parker.QuietAfter
	c.gotMessage = c.gotMessage || message.Kind == Text || message.Kind == Binary
	c.lastReceived.Store(int64(now))
	return message, nil
}

// suspend parks a quiet connection. It returns true if the calling goroutine must end. A
// connection is quiet if nothing has arrived for Config.QuietAfter. It is also quiet if,
// after such a time, only a ping or a pong has arrived. So a client can unpark its
// connection at most twice in that time.
func (c *Conn) suspend() bool {
	mustPark := c.parkSoon || c.wasQuiet && !c.gotMessage // after a message the next one often follows soon
	c.gotMessage, c.parkSoon, c.wasQuiet = false, false, false
	if !mustPark || c.rawConn == nil || c.frames.isMidMessage() {
		return false
	}
	c.setReadDeadline(noDeadline, 0) // a parked connection has no timer
	return c.parker.park(c)
}

// limitWait sets the deadline of the next read. A message that has started must end in time.
// Between messages the deadline is the time at which the client is quiet, if no message has
// come by then. Without rawConn a connection never parks, so it need not know.
func (c *Conn) limitWait() {
	switch {
	case c.frames.isMidMessage() && c.deadline != ofMessage:
		c.setReadDeadline(ofMessage, c.parker.MessageTimeout)
	case !c.frames.isMidMessage() && c.deadline == noDeadline && c.rawConn != nil:
		wait := c.parker.QuietAfter - c.SilentFor()
		if wait <= 0 { // bytes are about to be read
			wait = c.parker.QuietAfter
		}
		c.setReadDeadline(ofQuiet, max(wait, c.parker.pauseLeft()))
	}
}

// endQuietWait returns true if the deadline of a quiet client may have caused this error of a
// read. The caller then reads again: if the error had another reason, it occurs again.
func (c *Conn) endQuietWait(err error) bool {
	if c.deadline != ofQuiet || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.deadline, c.wasQuiet = noDeadline, c.SilentFor() >= c.parker.QuietAfter
	return true
}

// Discard reads and drops everything until the client's close frame or the end of the
// connection, at most Config.CloseTimeout. Call it after SendClose.
func (c *Conn) Discard() {
	var err error
	for err == nil {
		_, err = c.ReadMessage()
	}
	if !errors.Is(err, io.EOF) {
		_, _ = io.Copy(io.Discard, c.conn) // after an invalid frame only bytes can be read
	}
}
