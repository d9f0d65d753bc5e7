package ws

import (
	"io"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// tooSilent closes a session that said no hello in time.
func (se *session) tooSilent() {
	se.close(protocol.CloseSilent, "no hello within 5 s; reconnect")
}

// beat pings a session, and closes it when nothing was heard for three beats,
// its token has expired or it is not the player's newest.
func (se *session) beat() {
	now := se.server.Now()
	switch {
	case now >= se.claims.ExpiresAt:
		se.closeAfter(protocol.CloseUnauthorized, "token expired")
	case now-se.heard.Load() >= 3*se.server.PingEvery.Milliseconds():
		se.close(protocol.CloseSilent, "nothing heard for too long; reconnect")
	default:
		se.out.push("", ping)
		se.server.looks.try(se.lookForNewer)
		se.watchBeat()
	}
}

// watchBeat awaits the next beat, earlier than the others where the token
// expires before.
func (se *session) watchBeat() {
	wait := min(se.server.PingEvery.Milliseconds(), se.claims.ExpiresAt-se.server.Now())
	se.watchFor(time.Duration(wait)*time.Millisecond, se.beat)
}

// watchFor calls f after d, instead of what it was to call before.
func (se *session) watchFor(d time.Duration, f func()) {
	se.server.Wheel.Set(&se.watch, d, f)
	if se.leaving.Load() != nil {
		se.watch.Stop()
	}
}

// hear notes that the client is there.
func (se *session) hear(at int64) { se.heard.Store(at) }

// control takes a ping or a pong, which costs what a message does. A ping that the
// bucket does not hold has no answer.
func (se *session) control(kind byte, payload []byte) {
	se.hear(se.server.Now())
	if se.affords(1) && kind == websocket.PingMessage {
		se.pong(payload)
	}
}

// pong answers a client's ping.
func (se *session) pong(payload []byte) {
	se.out.hold()
	se.out.reply(control(websocket.PongMessage, string(payload)))
	if se.out.release() {
		se.write()
	}
}

// leaves answers a client's closing frame, and nothing that is queued follows.
func (se *session) leaves(payload []byte) error {
	code, err := closing(payload)
	if err != nil {
		return err
	}
	se.out.close()
	if se.hush() {
		se.wire.sayGoodbye(code, "")
	}
	return io.EOF
}
