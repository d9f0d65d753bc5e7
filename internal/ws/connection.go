package ws

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/wsconn"
)

const slowReaderReason = "reading too slowly; reconnect and resume"

// connection is the outgoing half of a session: it queues frames and closes the websocket.
// It is safe for concurrent use.
type connection struct {
	services *services
	conn     *wsconn.Conn
	outbox   outbox
	closing  atomic.Pointer[closeRequest] // set once: the session is ending
}

// closeRequest is the decision to end a session.
type closeRequest struct {
	sent chan struct{} // closed when the close frame was sent, or cannot be sent
}

func (c *connection) init(services *services, conn *wsconn.Conn) {
	c.services, c.conn = services, conn
	c.outbox.init(c.startWriter, func() { c.close(protocol.CloseSlowReader, slowReaderReason) })
}

// request is one request and the time when its frame arrived.
type request struct {
	protocol.Request
	receivedAt int64  // cluster time, ms
	label      string // its type, for metrics and logs
}

// reply queues the reply to a request.
func (c *connection) reply(req request, messageType string, data any) {
	c.outbox.reply(protocol.EncodeReply(req.ID, messageType, data))
}

func (c *connection) startWriter() {
	go c.writeQueued() // release waits for it
}

// writeQueued writes frames until the outbox has none. The outbox makes sure that only
// one goroutine runs it at a time. It closes a session whose client reads too slowly. On
// any other error the connection has ended, and the read loop ends by itself.
func (c *connection) writeQueued() {
	for batch := c.outbox.takeBatch(); batch != nil; batch = c.outbox.takeBatch() {
		err := c.conn.WriteBatch(batch)
		if err != nil {
			c.outbox.close()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.close(protocol.CloseSlowReader, slowReaderReason)
		}
	}
}

// isClosing returns true if the session is ending. It then handles no request.
func (c *connection) isClosing() bool { return c.closing.Load() != nil }

// close ends the session with a close code and drops all queued frames. If the session is
// already closing, it does nothing. It does not block. The read loop ends when the client
// has sent its close frame too, or after closeTimeout.
func (c *connection) close(code int, reason string) {
	if closeReq := c.startClose(closeLabel(code)); closeReq != nil {
		c.outbox.close()
		go func() { // release waits for it
			c.conn.SendClose(code, reason)
			close(closeReq.sent)
		}()
	}
}

// closeAfterQueued is like close, but first writes the queued frames and the reply to the
// request under way. Writing them may take closeTimeout.
func (c *connection) closeAfterQueued(code int, reason string) {
	if closeReq := c.startClose(closeLabel(code)); closeReq != nil {
		go func() { // release waits for it
			timer := time.AfterFunc(closeTimeout, c.outbox.close)
			c.outbox.flush()
			timer.Stop()
			c.conn.SendClose(code, reason)
			close(closeReq.sent)
		}()
	}
}

// abort ends the session without a close frame. If the session is already closing, it
// does nothing.
func (c *connection) abort() {
	if closeReq := c.startClose("cut"); closeReq != nil {
		c.outbox.close()
		c.conn.Close()
		close(closeReq.sent)
	}
}

func (c *connection) closeForDrain() {
	c.closeAfterQueued(protocol.CloseDraining, "draining; reconnect")
}

// evict closes the session so that another gets its place.
func (c *connection) evict() { c.reject(protocol.CloseOverloaded, retryReason, func() {}) }

// reject closes a connection that gets no place, and calls afterClose when the close frame was
// sent. It does not block. If maxRejecting connections are being rejected already, it sends no
// close frame.
func (c *connection) reject(code int, reason string, afterClose func()) {
	if !c.services.rejecting.TryAcquire(1) {
		c.abort()
		return
	}
	go func() { // Drain waits for it
		defer c.services.rejecting.Release(1)
		c.close(code, reason)
		<-c.closing.Load().sent
		afterClose()
	}()
}

// startClose marks the session as closing and counts it. It returns nil if the session was
// closing already.
func (c *connection) startClose(label string) *closeRequest {
	closeReq := &closeRequest{make(chan struct{})}
	if !c.closing.CompareAndSwap(nil, closeReq) {
		return nil
	}
	c.services.metrics.closed.WithLabelValues(label).Inc()
	return closeReq
}

// release ends the connection and waits until nothing uses it any more.
func (c *connection) release() {
	if c.startClose("gone") == nil {
		<-c.closing.Load().sent
	}
	c.outbox.close()
	c.conn.Close()
	c.outbox.waitForWriterEnd()
}

func closeLabel(code int) string { return strconv.Itoa(code) }

// retryReason is the reason in the close frames of an overloaded server.
var retryReason = retryReasonAfter(retryMS)

func retryReasonAfter(ms int64) string { return fmt.Sprintf(`{"retry_after_ms":%d}`, ms) }
