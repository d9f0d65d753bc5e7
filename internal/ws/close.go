package ws

import "time"

// closeRequest is the server's decision to end a session.
type closeRequest struct {
	code   int
	reason string
	sent   chan struct{} // closed when the close frame was sent, or cannot be sent
}

// close ends the session with a code, once, and drops what is queued. It does not
// block. The read loop ends when the client has sent its close frame too, or after
// closeWithin.
func (se *session) close(code int, reason string) {
	if c := se.beginClose(code, reason); c != nil {
		se.out.close()
		go se.sendClose(c) // end waits for it
	}
}

// closeAfter is like close, but first writes what is queued and the reply to the
// request under way, within closeWithin.
func (se *session) closeAfter(code int, reason string) {
	if c := se.beginClose(code, reason); c != nil {
		go func() { // end waits for it
			timer := time.AfterFunc(closeWithin, se.out.close)
			se.out.flush()
			timer.Stop()
			se.sendClose(c)
		}()
	}
}

// beginClose decides that the session ends. It returns nil if that was decided before.
// From here on the session handles no request.
func (se *session) beginClose(code int, reason string) *closeRequest {
	c := &closeRequest{code, reason, make(chan struct{})}
	if !se.closing.CompareAndSwap(nil, c) {
		return nil
	}
	se.server.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
	se.server.parker.unpark(se)
	return c
}

// abort ends the session without a close frame, once.
func (se *session) abort() {
	c := &closeRequest{sent: make(chan struct{})}
	if !se.closing.CompareAndSwap(nil, c) {
		return
	}
	se.server.metrics.closed.WithLabelValues("cut").Inc()
	se.out.close()
	_ = se.conn.Close()
	se.server.parker.unpark(se)
	close(c.sent)
}

// sendClose sends the close frame after the frames that are being written, and bounds
// how long the read loop waits for the client's. Closing the connection before that
// could reset it, and the client would lose the close frame (RFC 6455, 7.1.1).
func (se *session) sendClose(c *closeRequest) {
	defer close(c.sent)
	if !se.finishWriting() {
		_ = se.conn.SetDeadline(time.Now()) // nothing more can be sent
		return
	}
	se.conn.sendClose(c.code, c.reason)
}

// finishWriting waits, at most closeWithin, until the frames that left the closed
// outbox are written. It returns false if the last write failed.
func (se *session) finishWriting() bool {
	_ = se.conn.SetWriteDeadline(time.Now().Add(closeWithin)) // it fails if the connection has ended
	se.out.waitWrite()
	return !se.writeFailed.Load()
}

// rejectConn closes a connection without a session: it sends the reason and gives the
// client time to close. If too many connections are being rejected, it closes without a
// frame.
func (s *Server) rejectConn(c *clientConn, code int, reason string) {
	started := s.rejecting.tryGo(func() {
		c.sendClose(code, reason)
		c.readUntilClose()
		_ = c.Close()
	})
	if started {
		s.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
		return
	}
	s.metrics.closed.WithLabelValues("cut").Inc()
	_ = c.Close()
}
