package wsconn

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is the server's end of a websocket. One goroutine at a time may call ReadMessage and
// ParkSoon; all other methods are safe for concurrent use. The caller must call Close.
//
// A message that does not arrive in one piece must be complete within
// Config.MessageTimeout. A message in one piece sets no timer. A write sets no timer
// either, if the kernel accepts all bytes immediately.
type Conn struct {
	parker  *Parker
	conn    net.Conn
	rawConn syscall.RawConn // nil if the connection has none, as with TLS
	resume  func()
	parking uint64 // the number of its parking, 0 if it is not parked; Parker.mu guards it

	// The reading goroutine owns these fields.
	frames      frameReader
	readFunc    func(fd uintptr) bool
	readErr     error // the error of readFunc
	hasDeadline bool  // the read deadline of a message under way is set
	gotMessage  bool  // a text or binary message since the last wait
	wasQuiet    bool  // the client was quiet before the last message, or was interrupted
	parkSoon    bool  // see ParkSoon
	stackGrown  bool  // handling messages has grown the stack of the goroutine

	writeMu      sync.Mutex
	pendingBytes []byte // bytes that writeFunc must still write
	writeFunc    func(fd uintptr) bool
	writeFailed  bool // a write failed, perhaps in the middle of a frame

	lastReceived atomic.Int64 // when the last message arrived, a time since processStart

	mu          sync.Mutex
	closing     bool // SendClose or Close was called: the read deadline must not change any more
	interrupted bool // interrupt has ended the current read
}

// The errors of ReadMessage that need an answer, with ErrInvalidFrame and ErrTooLarge. After
// any other error the connection has ended.
var (
	// ErrSuspended means that the calling goroutine must end at once: another one
	// continues to read, now or later.
	ErrSuspended = errors.New("wsconn: another goroutine continues to read")
	// ErrMessageTimeout means that a message did not arrive within Config.MessageTimeout.
	ErrMessageTimeout = errors.New("wsconn: a message took too long to arrive")
)

// processStart is the time 0 of the monotonic times of this package.
var processStart = time.Now()

func sinceStart() time.Duration { return time.Since(processStart) }

// SilentFor returns how long ago the last message of the client arrived.
func (c *Conn) SilentFor() time.Duration { return sinceStart() - time.Duration(c.lastReceived.Load()) }

// ReadMessage waits for the next message. If it returns ErrSuspended, the calling goroutine
// must end; the connection later calls resume in a new one. It replies to a close frame
// of the client and then returns io.EOF.
func (c *Conn) ReadMessage() (Message, error) {
	for {
		message, err := c.nextMessage()
		if err != nil || message.Kind != 0 {
			return message, err
		}
		c.prepareWait()
		if c.suspend() {
			return Message{}, ErrSuspended
		}
		if err := c.waitAndRead(); err != nil && !c.clearInterrupt(err) {
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
	if c.hasDeadline && !c.frames.isFragmented() {
		c.setMessageDeadline(time.Time{}) // the next message has its full time
	}
	if message.Kind == closeFrame {
		code, err := parseCloseCode(message.Payload)
		if err == nil {
			c.SendClose(code, "")
			err = io.EOF
		}
		return Message{}, err
	}
	now := sinceStart()
	c.wasQuiet = c.wasQuiet || now-time.Duration(c.lastReceived.Load()) >= c.parker.QuietAfter
	c.gotMessage = c.gotMessage || message.Kind == Text || message.Kind == Binary
	c.lastReceived.Store(int64(now))
	return message, nil
}

// suspend parks a quiet connection. It returns true if the calling goroutine must end. A
// connection is quiet if nothing has arrived for Config.QuietAfter. It is also quiet if,
// after such a time, only a ping or a pong has arrived. So a client can unpark its
// connection at most twice in that time. If a connection cannot be parked, and messages
// have grown the stack, a new goroutine with a small stack continues.
func (c *Conn) suspend() bool {
	gotMessage, parkSoon, wasQuiet := c.gotMessage, c.parkSoon, c.wasQuiet
	c.gotMessage, c.parkSoon, c.wasQuiet = false, false, false
	c.stackGrown = c.stackGrown || gotMessage
	if gotMessage && !parkSoon || c.isClosing() {
		return false // after a message the next one often follows soon
	}
	stackGrown := c.stackGrown
	c.stackGrown = false
	if (wasQuiet || parkSoon) && c.parker.park(c) {
		return true
	}
	if stackGrown {
		go c.resume()
	}
	return stackGrown
}

// Close closes the connection without a close frame. ReadMessage ends with an error.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	_ = c.conn.Close() // an error means that it was closed before
	c.parker.remove(c)
}

// SendClose writes a close frame after the batch that is being written. Later batches are
// not written. The client then has Config.CloseTimeout to send its own close frame: if the
// server closed the connection at once, the client could lose the close frame (RFC 6455,
// 7.1.1). A second call does nothing.
func (c *Conn) SendClose(code int, reason string) {
	c.mu.Lock()
	isFirst := !c.closing
	c.closing = true
	if isFirst { // both fail if the connection has ended
		_ = c.conn.SetWriteDeadline(time.Now().Add(c.parker.CloseTimeout))
		_ = c.conn.SetReadDeadline(time.Time{}) // that of an interrupt would end reading before the close frame
	}
	c.mu.Unlock()
	if !isFirst {
		return
	}
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	wait := c.parker.CloseTimeout
	if c.writeFailed || c.writeAll(encodeClose(code, reason)) != nil {
		wait = 0 // do not wait for the client
	}
	_ = c.conn.SetDeadline(time.Now().Add(wait)) // it fails if the connection has ended
	c.parker.unpark(c)
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

func (c *Conn) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}
