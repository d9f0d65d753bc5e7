package ws

import "time"

// farewell is the end of a session that the server has decided on.
type farewell struct {
	code   int
	reason string
	said   chan struct{} // closed when the close frame is out, or cannot be
}

// close ends the session with a code, once. What is queued is dropped. It
// waits for nothing; the read loop ends when the client has closed too, or
// has not for a while.
func (se *session) close(code int, reason string) {
	if f := se.part(code, reason); f != nil {
		se.out.close()
		go se.goodbye(f) // end waits for it
	}
}

// closeAfter is close, but that what is queued, and the reply to the request
// under way, is written first, within closeWithin.
func (se *session) closeAfter(code int, reason string) {
	if f := se.part(code, reason); f != nil {
		go func() { // end waits for it
			patience := time.AfterFunc(closeWithin, se.out.close)
			se.out.flush()
			patience.Stop()
			se.goodbye(f)
		}()
	}
}

// part decides that the session ends, and how; nil where that was decided
// before. From here on no request is handled.
func (se *session) part(code int, reason string) *farewell {
	f := &farewell{code, reason, make(chan struct{})}
	if !se.leaving.CompareAndSwap(nil, f) {
		return nil
	}
	se.server.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
	se.server.beds.rouse(se)
	return f
}

// cut ends the session without a word, once.
func (se *session) cut() {
	f := &farewell{said: make(chan struct{})}
	if !se.leaving.CompareAndSwap(nil, f) {
		return
	}
	se.server.metrics.closed.WithLabelValues("cut").Inc()
	se.out.close()
	_ = se.wire.Close()
	se.server.beds.rouse(se)
	close(f.said)
}

// goodbye says the close frame, which follows on the frames that are being
// written, and bounds how long the read loop waits for the client's. Closing the
// connection before that could reset it, and the frame would be lost (RFC 6455,
// 7.1.1).
func (se *session) goodbye(f *farewell) {
	defer close(f.said)
	if !se.hush() {
		_ = se.wire.SetDeadline(time.Now()) // nothing can be said any more
		return
	}
	se.wire.sayGoodbye(f.code, f.reason)
}

// hush waits within closeWithin until nothing more is written of what was queued
// in the outbox, which is closed; false where the last write failed.
func (se *session) hush() bool {
	_ = se.wire.SetWriteDeadline(time.Now().Add(closeWithin)) // it fails where the connection has ended
	se.out.quiet()
	return !se.torn.Load()
}

// turnAway closes a connection that has no session: it is told why, and given
// time to close. Where too many are at that already it is cut off.
func (s *Server) turnAway(w *wire, code int, reason string) {
	told := s.away.try(func() {
		w.sayGoodbye(code, reason)
		w.hearOut()
		_ = w.Close()
	})
	if told {
		s.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
		return
	}
	s.metrics.closed.WithLabelValues("cut").Inc()
	_ = w.Close()
}
