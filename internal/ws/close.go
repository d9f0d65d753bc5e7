package ws

import "time"

// closeRequest is the server's decision to end a session. code is the websocket close
// code, 0 for an end without a close frame.
type closeRequest struct {
	code   int
	reason string
	sent   chan struct{} // closed when the close frame was sent, or cannot be sent
}

// close ends the session with a close code and drops all queued frames. If the session is
// already closing, it does nothing. It does not block. The read loop ends when the client
// has sent its close frame too, or after closeTimeout.
func (se *session) close(code int, reason string) {
	if closeReq := se.startClose(code, reason); closeReq != nil {
		se.outbox.close()
		go se.sendClose(closeReq) // end waits for it
	}
}

// closeAfterQueued is like close, but first writes the queued frames and the reply to the
// request under way. Writing them may take closeTimeout.
func (se *session) closeAfterQueued(code int, reason string) {
	if closeReq := se.startClose(code, reason); closeReq != nil {
		go func() { // end waits for it
			timer := time.AfterFunc(closeTimeout, se.outbox.close)
			se.outbox.flush()
			timer.Stop()
			se.sendClose(closeReq)
		}()
	}
}

// startClose marks the session as closing. It returns nil if the session was closing
// already. From here on the session handles no request.
func (se *session) startClose(code int, reason string) *closeRequest {
	closeReq := &closeRequest{code, reason, make(chan struct{})}
	if !se.closing.CompareAndSwap(nil, closeReq) {
		return nil
	}
	se.server.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
	se.server.parker.unpark(se)
	return closeReq
}

// abort ends the session without a close frame. If the session is already closing, it
// does nothing.
func (se *session) abort() {
	closeReq := &closeRequest{sent: make(chan struct{})}
	if !se.closing.CompareAndSwap(nil, closeReq) {
		return
	}
	se.server.metrics.closed.WithLabelValues("cut").Inc()
	se.outbox.close()
	_ = se.conn.Close()
	se.server.parker.unpark(se)
	close(closeReq.sent)
}

// sendClose sends the close frame after the frames that are being written. It also sets
// the time limit for the client's close frame. If the server closed the connection
// before, it could reset it, and the client would lose the close frame (RFC 6455, 7.1.1).
func (se *session) sendClose(closeReq *closeRequest) {
	defer close(closeReq.sent)
	if !se.finishWriting() {
		_ = se.conn.SetDeadline(time.Now()) // nothing more can be sent
		return
	}
	se.conn.sendClose(closeReq.code, closeReq.reason)
}

// finishWriting waits until the frames that the writer has taken from the closed outbox
// are written, at most closeTimeout. It returns false if a write failed.
func (se *session) finishWriting() bool {
	_ = se.conn.SetWriteDeadline(time.Now().Add(closeTimeout)) // it fails if the connection has ended
	se.outbox.waitForWriteEnd()
	return !se.writeFailed.Load()
}

// rejectConn closes a connection that gets no session. It sends a close frame and waits
// for the client's close frame, both in the background. If maxRejecting connections are
// being rejected already, it closes the connection without a close frame.
func (s *Server) rejectConn(conn *clientConn, code int, reason string) {
	ok := s.rejecting.tryGo(func() {
		conn.sendClose(code, reason)
		conn.readUntilClose()
		_ = conn.Close()
	})
	if ok {
		s.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
		return
	}
	s.metrics.closed.WithLabelValues("cut").Inc()
	_ = conn.Close()
}
