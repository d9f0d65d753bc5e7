package ws

import (
	"io"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// closeWithoutHello closes a session that has sent no hello in time.
func (se *session) closeWithoutHello() {
	se.close(protocol.CloseSilent, "no hello within 5 s; reconnect")
}

// sendHeartbeat pings a session. It closes the session instead if nothing was received
// for three heartbeats, or if its token has expired. It also looks for a newer session
// of the player.
func (se *session) sendHeartbeat() {
	now := se.server.Now()
	switch {
	case now >= se.claims.ExpiresAt:
		se.closeAfter(protocol.CloseUnauthorized, "token expired")
	case now-se.lastReceived.Load() >= 3*se.server.PingEvery.Milliseconds():
		se.close(protocol.CloseSilent, "no frame received for too long; reconnect")
	default:
		se.out.push("", ping)
		se.server.lookups.tryGo(se.closeIfReplaced)
		se.scheduleHeartbeat()
	}
}

// scheduleHeartbeat sets the timer of the next heartbeat, at the latest for when the
// token expires.
func (se *session) scheduleHeartbeat() {
	wait := min(se.server.PingEvery.Milliseconds(), se.claims.ExpiresAt-se.server.Now())
	se.setTimer(time.Duration(wait)*time.Millisecond, se.sendHeartbeat)
}

// setTimer calls f after d. It replaces a former call that is still to come.
func (se *session) setTimer(d time.Duration, f func()) {
	se.server.Wheel.Set(&se.timer, d, f)
	if se.closing.Load() != nil {
		se.timer.Stop()
	}
}

// markReceived notes that the client is connected.
func (se *session) markReceived(receivedAt int64) { se.lastReceived.Store(receivedAt) }

// handleControl handles a ping or a pong, which takes one token. A ping without a token
// gets no pong.
func (se *session) handleControl(kind byte, payload []byte) {
	se.markReceived(se.server.Now())
	if se.takeTokens(1) && kind == websocket.PingMessage {
		se.replyPong(payload)
	}
}

// replyPong replies to a client's ping.
func (se *session) replyPong(payload []byte) {
	se.out.hold()
	se.out.reply(controlFrame(websocket.PongMessage, string(payload)))
	if se.out.release() {
		se.writeQueued()
	}
}

// handleClose replies to a client's close frame. Nothing that is queued follows.
func (se *session) handleClose(payload []byte) error {
	code, err := closeCodeOf(payload)
	if err != nil {
		return err
	}
	se.out.close()
	if se.finishWriting() {
		se.conn.sendClose(code, "")
	}
	return io.EOF
}
