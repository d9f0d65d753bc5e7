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
	"laststand/internal/limit"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// session is one live websocket of one player. Its fields are owned by its
// read loop, but for those that say otherwise. Requests are handled one after
// the other.
type session struct {
	server *Server
	wire   *wire       // one reader, the loop; one writer, see outbox
	out    outbox      // any goroutine
	torn   atomic.Bool // a write failed, perhaps amid a frame
	bed    uint32      // its number in the server's beds, from 1; 0: it has none. Never changes once others know of it
	grown  bool        // the stack of the read loop, by requests
	pace   pace
	failed bool // the request under way met a store that is out of reach
	slow   bool // the last request did, and took long over it

	game    string
	player  string
	claims  identity.Claims // of its token; their role is player or host
	number  int64           // among the player's sessions over all nodes; the four never change once greeted
	leave   func()          // ends the player's visit; nil where there is none
	watches watches
	greeted atomic.Bool // hello has been said
	inRoom  atomic.Bool // the player counts in the server's Room

	// The match that the player was in before the session, "" for none; nil until
	// that is known.
	before atomic.Pointer[string]

	address netip.Addr    // its client's
	scarce  scarcity      // whether its place is only for a player who is in a match
	parting bool          // it is about to leave; guarded by the server's mu, as is silent
	silent  *list.Element // among those that have said no hello; nil where it has

	heard   atomic.Int64 // when anything last came, cluster time
	asked   atomic.Int64 // when it last asked for anything but a pong, or came
	watch   timer.Timer
	leaving atomic.Pointer[farewell] // set once: the session ends
	place   sync.Mutex               // held while the player's place is given up
}

const tooSlow = "reading too slowly; reconnect and resume"

func newSession(s *Server, w *wire, address netip.Addr) *session {
	se := &session{server: s, wire: w, address: address, pace: newPace(sinceStart(), s.PerSecond)}
	se.out.init(se.startWriter, func() { se.close(protocol.CloseSlowReader, tooSlow) })
	return se
}

// from is its client's address, as limits count it.
func (se *session) from() limit.Key { return limit.Address(se.address) }

// Push implements match.Subscriber.
func (se *session) Push(match string, frames ...[]byte) {
	for _, frame := range frames {
		se.follow(frame)
	}
	se.out.push(match, frames...)
}

// DiscardHeld implements match.Subscriber.
func (se *session) DiscardHeld(match string) { se.out.forget(match) }

// CanAttach implements match.Subscriber. What is found before it is known what the
// player was in is not missed: hello looks for it afterwards.
func (se *session) CanAttach(match string) bool {
	before := se.before.Load()
	return before != nil && *before != match
}

var _ match.Subscriber = (*session)(nil)

// begin notes that the session is there, and reads.
func (se *session) begin() {
	se.hear(se.server.Now())
	se.asked.Store(se.heard.Load())
	se.watchFor(se.server.helloWithin, se.tooSilent)
	se.run()
}

// run reads and handles frames until the connection ends, or the session sleeps:
// after the hello, and when a client is quiet, that is has not been heard of for a
// while, or has answered a ping after such a while and asked nothing. So no client,
// whatever it sends, is awakened more than twice within one.
func (se *session) run() {
	for {
		greeted, heard, asked, lulled := se.greeted.Load(), se.heard.Load(), false, false
		err := se.wire.fill()
		if err == nil {
			asked, err = se.deal()
		} else if lulled = se.wire.wasLulled(err); lulled {
			err = nil
		}
		if err != nil {
			se.lost(err)
			se.end()
			return
		}
		se.grown = se.grown || asked
		quiet := lulled || asked || se.heard.Load()-heard >= se.server.beds.quiet.Milliseconds()
		if (!asked || !greeted) && se.pause(quiet) {
			return
		}
	}
}

// pause says whether the read loop is to end, since the session sleeps. One that
// cannot, or is not quiet, waits in a goroutine, whose stack is to be small: where it
// has grown by requests another goes on.
func (se *session) pause(quiet bool) bool {
	grown := se.grown
	se.grown = false
	if quiet && se.server.beds.sleep(se) {
		return true
	}
	if grown {
		go se.run() // Server.running waits for it
	}
	return grown
}

// deal handles all that has come whole, and says whether requests were among it.
// What comes after the decision to close is dropped.
func (se *session) deal() (asked bool, err error) {
	for {
		kind, payload, err := se.wire.next()
		switch {
		case errors.Is(err, errTooLarge):
			se.close(protocol.CloseTooLarge, "a frame is at most 4 KiB")
		case err != nil:
			return asked, err
		case kind == 0:
			se.wire.rest()
			return asked, nil
		case kind == websocket.CloseMessage:
			return asked, se.leaves(payload)
		case se.leaving.Load() != nil:
		case kind == websocket.PingMessage, kind == websocket.PongMessage:
			se.control(kind, payload)
		default:
			asked = true
			se.receive(kind, payload)
		}
	}
}

// lost says goodbye to a client whose message did not come to its end in time, and
// hears it out, and to one that sends what is no frame. Any other error of reading
// is the end of the connection.
func (se *session) lost(err error) {
	if errors.Is(err, errFrame) {
		se.close(websocket.CloseProtocolError, "")
		return
	}
	if late, ok := errors.AsType[net.Error](err); !ok || !late.Timeout() {
		return
	}
	se.close(protocol.CloseSilent, "a message took too long to come; reconnect")
	<-se.leaving.Load().said
	_, _ = io.Copy(io.Discard, se.wire.Conn) // within closeWithin, see goodbye
}

// receive takes a message. Nothing of it is kept beyond that.
func (se *session) receive(kind byte, frame []byte) {
	at := se.server.Now()
	se.hear(at)
	if kind != websocket.TextMessage || !utf8.Valid(frame) {
		se.close(protocol.CloseProtocol, "frames are UTF-8 text")
		return
	}
	se.handle(frame, at)
}

// handle answers one frame. Pushes wait until its reply is on its way, which as
// a rule this very goroutine sends it on: to start another takes longer.
func (se *session) handle(frame []byte, at int64) {
	began := time.Now()
	ctx, patience := se.patience()
	r, err := protocol.ReadRequest(frame)
	greeted, then := se.greeted.Load(), nothing
	se.failed = false
	se.out.hold()
	if !se.guard(func() { then = se.answer(ctx, request{Request: r, at: at}, err) }, r.Type) {
		se.fault(r, greeted)
	}
	if se.out.release() {
		se.write()
	}
	se.guard(then, r.Type)
	se.slow = se.failed && time.Since(began) > patience/3
}

// patience bounds a request. Those behind one that a store let wait in vain have
// less of it, so that all that queues up is refused soon.
func (se *session) patience() (context.Context, time.Duration) {
	within, glass := se.server.callWithin, &se.server.patient
	if se.slow {
		within, glass = within/hurry, &se.server.hurried
	}
	return glass.context(within), within
}

// end lets go of everything the session had, when its read loop ends.
func (se *session) end() {
	if se.leave != nil {
		se.leave()
	}
	if !se.leaving.CompareAndSwap(nil, &farewell{}) {
		<-se.leaving.Load().said
	} else {
		se.server.metrics.closed.WithLabelValues("gone").Inc()
	}
	se.watch.Stop()
	se.unwatchAll()
	se.out.close()
	_ = se.wire.Close()
	se.out.join()
	if se.greeted.Load() {
		se.giveUpPlace()
	}
	se.leaveRoom()
	se.server.beds.leave(se)
	se.server.leave(se)
	se.server.running.Done()
}

func (se *session) inMatch() bool {
	return se.greeted.Load() && se.server.Engine.IsInMatch(se.game, se.player)
}
