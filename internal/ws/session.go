package ws

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// session is one live websocket of one player. Its read loop owns the fields, except
// those that say otherwise. It handles requests one after the other.
type session struct {
	server          *Server
	conn            *clientConn // one reader, the read loop; one writer, see outbox
	outbox          outbox      // any goroutine may use it
	writeFailed     atomic.Bool // a write failed, perhaps in the middle of a frame
	parkSlotNumber  uint32      // 1 + its slot in the server's parker, 0 for none; does not change once other goroutines know the session
	stackGrown      bool        // requests have grown the stack of the read loop
	limiter         messageLimiter
	storeFailed     bool // the request under way could not reach a store
	lastRequestSlow bool // the last request failed at a store after more than a third of its time limit

	game         string
	player       string
	claims       identity.Claims // of its token; the role is player or host
	number       int64           // orders the player's sessions at all nodes; game, player, claims and number do not change after the hello
	endVisit     func()          // nil if no visit is reported
	watches      boardWatches
	greeted      atomic.Bool // the hello is accepted
	hasDuelPlace atomic.Bool // the player counts in Server.DuelLimit

	// The match that the player was in before this session, "" for none; nil until it
	// is known.
	previousMatch atomic.Pointer[string]

	address      netip.Addr    // the client's address
	placeClass   placeClass    // which players may have its place
	evicted      bool          // it is being closed so that another gets its place; Server.mu guards evicted and pendingHello
	pendingHello *list.Element // its element in Server.pendingHello; nil after the hello

	lastReceived atomic.Int64                 // when the last frame arrived, cluster time in ms
	lastRequest  atomic.Int64                 // when the last request other than a ping arrived, or the connection itself
	timer        timer.Timer                  // the time limit of the hello, then the next heartbeat
	closing      atomic.Pointer[closeRequest] // set once: the session is ending
	unbindMu     sync.Mutex                   // held while unbindPlayer runs
}

const slowReaderReason = "reading too slowly; reconnect and resume"

func newSession(server *Server, conn *clientConn, address netip.Addr) *session {
	se := &session{server: server, conn: conn, address: address, limiter: newMessageLimiter(sinceStart(), server.MessagesPerSecond)}
	se.outbox.init(se.startWriter, func() { se.close(protocol.CloseSlowReader, slowReaderReason) })
	return se
}

// addressKey returns the client's address as a key of the limits.
func (se *session) addressKey() overload.Key { return overload.AddressKey(se.address) }

// Push queues pushes of a match for the client. It does not block.
func (se *session) Push(match string, frames ...[]byte) { se.outbox.push(match, frames...) }

// DiscardUnsent drops the pushes of a match that the outbox holds back.
func (se *session) DiscardUnsent(match string) { se.outbox.dropHeld(match) }

// CanAttach returns true if the engine may attach this session to a match that starts. It
// returns false for the match that the player was in before this session: welcome
// attaches the session to that. It also returns false until the previous match is known.
func (se *session) CanAttach(match string) bool {
	previous := se.previousMatch.Load()
	return previous != nil && *previous != match
}

var _ match.Subscriber = (*session)(nil)

// start sets the time limit of the hello and runs the read loop.
func (se *session) start() {
	se.setLastReceived(se.server.Now())
	se.lastRequest.Store(se.lastReceived.Load())
	se.setTimer(se.server.helloTimeout, se.closeForMissingHello)
	se.run()
}

// run is the read loop: it reads and handles frames until the connection ends or the
// session is parked. The session parks after the hello, and when the client is quiet. A
// client is quiet if it has sent nothing for quietAfter. It is also quiet if, after such a
// time, it has sent only a pong and no request. So a client can unpark its session at most
// twice in quietAfter.
func (se *session) run() {
	for {
		greeted, lastReceived, requested, interrupted := se.greeted.Load(), se.lastReceived.Load(), false, false
		err := se.conn.readMore()
		if err == nil {
			requested, err = se.handleMessages()
		} else if interrupted = se.conn.clearInterrupt(err); interrupted {
			err = nil
		}
		if err != nil {
			se.handleReadError(err)
			se.end()
			return
		}
		se.stackGrown = se.stackGrown || requested
		quiet := interrupted || requested || se.lastReceived.Load()-lastReceived >= se.server.parker.quietAfter.Milliseconds()
		if (!requested || !greeted) && se.parkOrRestart(quiet) {
			return
		}
	}
}

// parkOrRestart parks the session if quiet is true. It returns true if the calling read
// loop must end. If the session is not parked and requests have grown the stack of the
// read loop, a new goroutine with a small stack continues it.
func (se *session) parkOrRestart(quiet bool) bool {
	stackGrown := se.stackGrown
	se.stackGrown = false
	if quiet && se.server.parker.park(se) {
		return true
	}
	if stackGrown {
		go se.run() // Server.running waits for it
	}
	return stackGrown
}

// handleMessages handles all complete messages, and returns true if one of them was a
// request. If the session is closing, it drops all messages except a close frame.
func (se *session) handleMessages() (requested bool, err error) {
	for {
		kind, payload, err := se.conn.nextMessage()
		switch {
		case errors.Is(err, errTooLarge):
			se.close(protocol.CloseTooLarge, "a frame is at most 4 KiB")
		case err != nil:
			return requested, err
		case kind == 0:
			se.conn.prepareWait()
			return requested, nil
		case kind == websocket.CloseMessage:
			return requested, se.handleClose(payload)
		case se.closing.Load() != nil:
		case kind == websocket.PingMessage, kind == websocket.PongMessage:
			se.handleControl(kind, payload)
		default:
			requested = true
			se.handleMessage(kind, payload)
		}
	}
}

// handleReadError handles the error that ends the read loop. A client that has sent an
// invalid frame, or has not finished a message in time, gets a close frame. Any other
// error means that the connection has ended.
func (se *session) handleReadError(err error) {
	if errors.Is(err, errInvalidFrame) {
		se.close(websocket.CloseProtocolError, "")
		return
	}
	if netErr, ok := errors.AsType[net.Error](err); !ok || !netErr.Timeout() {
		return
	}
	se.close(protocol.CloseSilent, "a message took too long to arrive; reconnect")
	<-se.closing.Load().sent
	_, _ = io.Copy(io.Discard, se.conn.Conn) // at most closeTimeout, see sendClose
}

// handleMessage handles a text or binary message; only text is allowed. It keeps no
// reference to the frame.
func (se *session) handleMessage(kind byte, frame []byte) {
	receivedAt := se.server.Now()
	se.setLastReceived(receivedAt)
	if kind != websocket.TextMessage || !utf8.Valid(frame) {
		se.close(protocol.CloseProtocol, "frames must be UTF-8 text")
		return
	}
	se.handleRequest(frame, receivedAt)
}

// handleRequest handles one request. Pushes wait until its reply is queued. This
// goroutine usually writes the reply itself, since starting another one takes longer.
func (se *session) handleRequest(frame []byte, receivedAt int64) {
	startedAt := time.Now()
	ctx, timeLimit := se.requestContext()
	r, err := protocol.ReadRequest(frame)
	greeted, afterReply := se.greeted.Load(), doNothing
	se.storeFailed = false
	se.outbox.hold()
	if !se.runRecovered(func() { afterReply = se.dispatch(ctx, request{Request: r, receivedAt: receivedAt}, err) }, r.Type) {
		se.replyInternalError(r, greeted)
	}
	if se.outbox.release() {
		se.writeQueued()
	}
	se.runRecovered(afterReply, r.Type)
	se.lastRequestSlow = se.storeFailed && time.Since(startedAt) > timeLimit/3
}

// requestContext returns the context of a request and its time limit. If the last request
// waited for a store and failed, the time limit is shorter, so that a queue of requests
// fails soon.
func (se *session) requestContext() (context.Context, time.Duration) {
	timeout, deadline := se.server.callTimeout, &se.server.callDeadline
	if se.lastRequestSlow {
		timeout, deadline = timeout/slowCallDivisor, &se.server.shortCallDeadline
	}
	return deadline.context(timeout), timeout
}

// end releases everything of the session when its read loop ends.
func (se *session) end() {
	if se.endVisit != nil {
		se.endVisit()
	}
	if !se.closing.CompareAndSwap(nil, &closeRequest{}) {
		<-se.closing.Load().sent
	} else {
		se.server.metrics.closed.WithLabelValues("gone").Inc()
	}
	se.timer.Stop()
	se.unwatchAll()
	se.outbox.close()
	_ = se.conn.Close()
	se.outbox.waitForWriterEnd()
	if se.greeted.Load() {
		se.unbindPlayer()
	}
	se.releaseDuelPlace()
	se.server.parker.freeSlot(se)
	se.server.removeSession(se)
	se.server.runningSessions.Done()
}

// inMatch returns true if the hello is accepted and the player is in a match at this node.
func (se *session) inMatch() bool {
	return se.greeted.Load() && se.server.Engine.IsInMatch(se.game, se.player)
}
