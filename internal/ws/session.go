package ws

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// session is one live websocket of one player. Its fields are owned by its
// read loop, but for those that say otherwise. Requests are handled one after
// the other.
type session struct {
	server *Server
	conn   *websocket.Conn // one reader, the loop; one writer, see outbox
	out    outbox          // any goroutine
	limit  *rate.Limiter
	faults [2]time.Time // the last two times the limit was passed

	game    string
	player  string
	expires int64       // of the token, epoch ms; the three never change once greeted
	greeted atomic.Bool // hello has been said

	heard   atomic.Int64 // when anything last came, cluster time
	watch   atomic.Pointer[timer.Timer]
	leaving atomic.Pointer[farewell] // set once: the session ends
	place   sync.Mutex               // held while the player's place is given up
}

const tooSlow = "reading too slowly; reconnect and resume"

func newSession(s *Server, conn *websocket.Conn) *session {
	se := &session{server: s, conn: conn, limit: rate.NewLimiter(rate.Limit(s.PerSecond), max(int(s.PerSecond), 1))}
	se.out.init(se.startWriter, func() { se.close(protocol.CloseSlowReader, tooSlow) })
	return se
}

// Push implements match.Subscriber.
func (se *session) Push(match string, frame []byte) { se.out.push(match, frame) }

// Forget implements match.Subscriber.
func (se *session) Forget(match string) { se.out.forget(match) }

var _ match.Subscriber = (*session)(nil)

// run reads and handles frames until the connection ends. What comes after
// the decision to close is read and dropped.
func (se *session) run() {
	defer se.server.running.Done()
	defer se.end()
	se.hear(se.server.Now())
	se.hearControl()
	se.watchFor(se.server.helloWithin, se.tooSilent)
	for {
		kind, r, err := se.conn.NextReader()
		if err != nil {
			return
		}
		if se.leaving.Load() != nil {
			continue
		}
		frame, err := io.ReadAll(io.LimitReader(r, protocol.MaxFrame+1))
		if err != nil {
			return
		}
		se.receive(kind, frame)
	}
}

func (se *session) receive(kind int, frame []byte) {
	at := se.server.Now()
	se.hear(at)
	switch {
	case len(frame) > protocol.MaxFrame:
		se.close(protocol.CloseTooLarge, "a frame is at most 4 KiB")
	case kind != websocket.TextMessage || !utf8.Valid(frame):
		se.close(protocol.CloseProtocol, "frames are UTF-8 text")
	default:
		se.handle(frame, at)
	}
}

// handle answers one frame. Pushes wait until its reply is on its way.
func (se *session) handle(frame []byte, at int64) {
	ctx, cancel := context.WithTimeout(context.Background(), callWithin)
	defer cancel()
	se.out.hold()
	then := se.answer(ctx, frame, at)
	se.out.release()
	then()
}

// end lets go of everything the session had, when its read loop ends.
func (se *session) end() {
	if !se.leaving.CompareAndSwap(nil, &farewell{}) {
		<-se.leaving.Load().said
	} else {
		se.server.metrics.closed.WithLabelValues("gone").Inc()
	}
	se.stopWatch()
	se.out.close()
	_ = se.conn.Close()
	se.out.join()
	if se.greeted.Load() {
		se.giveUpPlace()
	}
	se.server.leave(se)
}

// giveUpPlace takes the player out of presence, and the player's ticket out of
// the lobby, unless a newer session has taken over both. One that does so just
// now waits for it: what it enters afterwards is its own.
func (se *session) giveUpPlace() {
	se.server.Engine.Detach(se.game, se.player, se)
	se.place.Lock()
	defer se.place.Unlock()
	if newest, _ := se.server.Presence.Find(se.game, se.player); newest == se {
		ctx, cancel := context.WithTimeout(context.Background(), callWithin)
		defer cancel()
		if err := se.server.Lobby.Leave(ctx, se.game, se.player); err != nil {
			se.server.Logger.Warn("the ticket of a player who left stays until it expires", "error", err)
		}
	}
	se.server.Presence.Leave(se.game, se.player, se)
}

// takePlace makes the session its player's one; a former one is closed.
func (se *session) takePlace() {
	former, ok := se.server.Presence.Enter(se.game, se.player, se).(*session)
	if !ok {
		return
	}
	former.close(protocol.CloseReplaced, "replaced by a newer connection")
	former.place.Lock()   // until it has given up its place, if it is about to
	former.place.Unlock() //nolint:staticcheck // an empty critical section is the waiting
}

func (se *session) inMatch() bool {
	return se.greeted.Load() && se.server.Engine.Seated(se.game, se.player)
}
