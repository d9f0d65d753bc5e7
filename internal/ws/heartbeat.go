package ws

import (
	"io"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// closeForMissingHello closes a session whose client sent no hello within helloTimeout.
func (se *session) closeForMissingHello() {
	se.close(protocol.CloseSilent, "no hello within 5 s; reconnect")
}

// sendHeartbeat sends a ping to the client. It closes the session instead if no frame
// arrived during the last three ping intervals, or if the token has expired. It also
// checks whether the player has a newer session at another node.
func (se *session) sendHeartbeat() {
	now := se.server.Now()
	switch {
	case now >= se.claims.ExpiresAt:
		se.closeAfterQueued(protocol.CloseUnauthorized, "token expired")
	case now-se.lastReceived.Load() >= 3*se.server.PingInterval.Milliseconds():
		se.close(protocol.CloseSilent, "no frame received for too long; reconnect")
	default:
		se.outbox.push("", pingFrame)
		se.server.lookups.tryGo(se.closeIfReplaced)
		se.scheduleHeartbeat()
	}
}

// scheduleHeartbeat sets the timer of the next heartbeat: after PingInterval, or when the
// token expires if that is earlier.
func (se *session) scheduleHeartbeat() {
	wait := min(se.server.PingInterval.Milliseconds(), se.claims.ExpiresAt-se.server.Now())
	se.setTimer(time.Duration(wait)*time.Millisecond, se.sendHeartbeat)
}

// setTimer runs call after delay. It replaces an earlier call that has not run yet.
func (se *session) setTimer(delay time.Duration, call func()) {
	se.server.Wheel.Set(&se.timer, delay, call)
	if se.closing.Load() != nil {
		se.timer.Stop()
	}
}

// setLastReceived stores when a frame arrived, in ms of cluster time.
func (se *session) setLastReceived(receivedAt int64) { se.lastReceived.Store(receivedAt) }

// handleControl handles a ping or a pong; each takes one token from the session's bucket.
// If the bucket is empty, a ping gets no pong.
func (se *session) handleControl(kind byte, payload []byte) {
	se.setLastReceived(se.server.Now())
	if se.takeTokens(1) && kind == websocket.PingMessage {
		se.replyPong(payload)
	}
}

// replyPong sends a pong with the payload of the client's ping.
func (se *session) replyPong(payload []byte) {
	se.outbox.hold()
	se.outbox.reply(controlFrame(websocket.PongMessage, string(payload)))
	if se.outbox.release() {
		se.writeQueued()
	}
}

// handleClose replies to a client's close frame and drops all queued frames. It returns
// io.EOF, or errInvalidFrame.
func (se *session) handleClose(payload []byte) error {
	code, err := parseCloseCode(payload)
	if err != nil {
		return err
	}
	se.outbox.close()
	if se.finishWriting() {
		se.conn.sendClose(code, "")
	}
	return io.EOF
}
