package ws

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/timer"
	"laststand/internal/wsconn"
)

// session is one live websocket of one player. Its read loop owns it, except what presence
// and connection allow.
type session struct {
	presence

	admission admission
	requests  requests
	onEnd     func(*session) // called when everything is released
	timer     timer.Timer    // the time limit of the hello, then the next heartbeat
	pings     int            // heartbeats since the client was last heard
}

func newSession(services *services, netConn net.Conn, address netip.Addr, onEnd func(*session)) *session {
	se := &session{onEnd: onEnd}
	se.address = address
	se.init(services, services.parker.NewConn(netConn, se.run))
	se.requests = requests{presence: &se.presence, limiter: newMessageLimiter(timer.SinceStart())}
	se.admission = admission{
		presence: &se.presence, requests: &se.requests,
		place: overload.Place{Address: overload.Network(address), Evict: se.evict},
	}
	return se
}

// start sets the time limit of the hello and runs the read loop.
func (se *session) start() {
	se.lastRequest.Store(se.services.Now())
	se.setTimer(se.services.helloTimeout, se.closeForMissingHello)
	se.run()
}

// run is the read loop: it reads and handles messages until the connection ends or another
// goroutine continues the loop.
func (se *session) run() {
	for {
		message, err := se.conn.ReadMessage()
		switch {
		case errors.Is(err, wsconn.ErrSuspended):
			return
		case err != nil:
			se.handleReadError(err)
			se.end()
			return
		case !se.isClosing(): // a closing session drops all messages
			se.handleMessage(message)
		}
	}
}

// handleReadError closes the session of a client that broke the protocol or was too slow.
// Any other error means that the connection has ended.
func (se *session) handleReadError(err error) {
	switch {
	case errors.Is(err, wsconn.ErrInvalidFrame):
		se.close(websocket.CloseProtocolError, "")
	case errors.Is(err, wsconn.ErrTooLarge):
		se.close(protocol.CloseTooLarge, "a frame is at most 4 KiB")
	case errors.Is(err, wsconn.ErrMessageTimeout):
		se.close(protocol.CloseSilent, "a message took too long to arrive; reconnect")
	default:
		return
	}
	<-se.closing.Load().sent
	se.conn.Discard()
}

// handleMessage handles a message or a ping or pong; of messages only text is allowed. It
// keeps no reference to the payload.
func (se *session) handleMessage(message wsconn.Message) {
	switch {
	case message.Kind == wsconn.Ping || message.Kind == wsconn.Pong:
		se.handleControl(message)
	case message.Kind != wsconn.Text || !utf8.Valid(message.Payload):
		se.close(protocol.CloseProtocol, "frames must be UTF-8 text")
	default:
		se.handleRequest(message.Payload)
	}
}

// handleRequest handles one request: the first must be a hello.
func (se *session) handleRequest(frame []byte) {
	receivedAt := se.services.Now()
	decoded, err := protocol.ReadRequest(frame)
	if errors.Is(err, protocol.ErrMalformed) {
		se.close(protocol.CloseProtocol, "a frame must be a JSON object with a text `type`")
		return
	}
	req := request{decoded, receivedAt, typeLabel(decoded.Type)}
	se.services.metrics.messages.WithLabelValues(req.label).Inc()
	if se.greeted.Load() {
		se.requests.run(req, func(ctx context.Context) func() { return se.requests.handle(ctx, req, err) })
		return
	}
	se.timer.Stop() // the hello came in time; handling it has its own limit
	se.services.places.HelloReceived(&se.admission.place)
	se.requests.run(req, func(ctx context.Context) func() {
		se.admission.onHello(ctx, req, err)
		return nil
	})
	if se.greeted.Load() {
		se.scheduleHeartbeat()
		se.conn.ParkSoon()
	}
}

// handleControl handles a ping or a pong; each takes one token from the session's bucket.
// If the bucket is empty, a ping gets no pong.
func (se *session) handleControl(message wsconn.Message) {
	if !se.requests.takeTokens(1) || message.Kind != wsconn.Ping {
		return
	}
	se.outbox.hold()
	se.outbox.reply(wsconn.PongFrame(message.Payload))
	if se.outbox.release() {
		se.writeQueued()
	}
}

// end releases everything of the session when its read loop ends.
func (se *session) end() {
	if se.reportOffline != nil {
		se.reportOffline()
	}
	se.timer.Stop()
	se.requests.watches.stopAll()
	se.release()
	if se.greeted.Load() {
		se.unbind()
	}
	se.DuelChanged(false)
	se.onEnd(se)
}

// closeForMissingHello closes a session whose client sent no hello within helloTimeout.
func (se *session) closeForMissingHello() {
	se.close(protocol.CloseSilent, "no hello within 5 s; reconnect")
}

// sendHeartbeat sends a ping to the client. It closes the session instead if the token has
// expired, or if nothing arrived during the last three ping intervals, not even after two
// pings: heartbeats can be late. It also checks whether the player has a newer session at
// another node.
func (se *session) sendHeartbeat() {
	if se.conn.SilentFor() < se.services.PingInterval {
		se.pings = 0
	}
	switch {
	case se.services.Now() >= se.claims.ExpiresAt:
		se.closeAfterQueued(protocol.CloseUnauthorized, "token expired")
	case se.conn.SilentFor() >= 3*se.services.PingInterval && se.pings >= 2:
		se.close(protocol.CloseSilent, "no frame received for too long; reconnect")
	default:
		se.pings++
		se.outbox.push("", pingFrame)
		se.services.lookups.TryGo(func() error { se.closeIfReplaced(); return nil })
		se.scheduleHeartbeat()
	}
}

// pingFrame is the ping of all heartbeats.
var pingFrame = wsconn.PingFrame()

// scheduleHeartbeat sets the timer of the next heartbeat: after PingInterval, or when the
// token expires if that is earlier.
func (se *session) scheduleHeartbeat() {
	wait := min(se.services.PingInterval.Milliseconds(), se.claims.ExpiresAt-se.services.Now())
	se.setTimer(time.Duration(wait)*time.Millisecond, se.sendHeartbeat)
}

// setTimer runs call after delay. It replaces an earlier call that has not run yet.
func (se *session) setTimer(delay time.Duration, call func()) {
	se.services.Wheel.Set(&se.timer, delay, call)
	if se.isClosing() {
		se.timer.Stop()
	}
}
