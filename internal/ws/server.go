package ws

import (
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
	"go.opentelemetry.io/otel/trace/noop"

	"laststand/internal/protocol"
	"laststand/internal/wsconn"
)

// Server accepts websockets. It is safe for concurrent use.
type Server struct {
	services
	upgrader websocket.Upgrader

	mu              sync.Mutex
	sessions        map[*session]struct{}
	runningSessions sync.WaitGroup // counts sessions; only register adds, under mu
}

// New makes a server. The caller serves it as an http.Handler, calls Run, and calls Drain
// at the end.
func New(config Config) *Server {
	if _, isNoop := config.Tracer.(noop.Tracer); isNoop {
		config.Tracer = nil // even its spans would cost allocations for each answer
	}
	server := &Server{sessions: make(map[*session]struct{})}
	server.init(config)
	server.upgrader = websocket.Upgrader{
		HandshakeTimeout: helloTimeout,
		Subprotocols:     []string{protocol.Subprotocol},
		ReadBufferSize:   1,              // the minimum: clientConn reads and writes the frames
		WriteBufferPool:  new(sync.Pool), // so that the upgrader allocates no buffer
		CheckOrigin:      config.IsOriginAllowed,
		Error:            refuseUpgrade,
	}
	return server
}

// ServeHTTP upgrades a request to a websocket and returns. The session runs in its own
// goroutine, so that the request is removed from memory. A full or draining server
// accepts the websocket and then closes it, since browsers cannot read a refused upgrade.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.metrics.errors.WithLabelValues("upgrade").Inc()
		return // the upgrader has replied
	}
	se := newSession(&s.services, conn.NetConn(), s.ClientAddress(r), s.removeSession)
	if code, reason := s.register(se); code != 0 {
		s.reject(se.conn, code, reason)
		return
	}
	go se.start() // Drain waits for it
}

// register adds a session to the server. It returns the close code and reason to reject the
// connection with, or 0.
func (s *Server) register(se *session) (code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return protocol.CloseDraining, "draining"
	}
	taken, isSingleAddress := s.places.Take(&se.admission.place)
	if isSingleAddress && s.OnSingleAddress != nil {
		s.OnSingleAddress(se.address)
	}
	if !taken {
		return protocol.CloseOverloaded, retryReason
	}
	s.sessions[se] = struct{}{}
	s.runningSessions.Add(1)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	return 0, ""
}

// removeSession removes a session that has ended.
func (s *Server) removeSession(se *session) {
	s.places.Release(&se.admission.place)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, se)
	s.metrics.sessions.Set(float64(len(s.sessions)))
	s.runningSessions.Done()
}

// reject closes a connection that gets no session. It sends a close frame and waits for
// the client's close frame, both in the background. If maxRejecting connections are being
// rejected already, it closes the connection without a close frame.
func (s *Server) reject(conn *wsconn.Conn, code int, reason string) {
	started := s.startRejecting(func() {
		conn.SendClose(code, reason)
		conn.Discard()
		conn.Close()
	})
	if started {
		s.metrics.closed.WithLabelValues(closeLabel(code)).Inc()
		return
	}
	s.metrics.closed.WithLabelValues("cut").Inc()
	conn.Close()
}

// openSessions returns all registered sessions.
func (s *Server) openSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	sessions := make([]*session, 0, len(s.sessions))
	for se := range s.sessions {
		sessions = append(sessions, se)
	}
	return sessions
}

// DuelPlayers returns how many players at this node play a duel or wait for one.
func (s *Server) DuelPlayers() int64 { return s.duelPlayers.Load() + s.Lobby.LocalTickets() }

// CloseReplaced closes a player's session at this node if its own number is lower than
// number, the number of a newer session at another node. It does not block.
func (s *Server) CloseReplaced(game, player string, number int64) {
	if p := s.presenceOf(game, player); p != nil && p.number < number {
		p.close(protocol.CloseReplaced, replacedReason)
	}
}

// Recheck closes the sessions whose player or token is no longer allowed. The close code
// is 4410 for a banned player. It is 4401 for a revoked token, a retired key and an
// erased player. Recheck does not block. It skips sessions without a hello: the server
// checks these before it sends the welcome.
func (s *Server) Recheck() {
	for _, se := range s.openSessions() {
		if se.greeted.Load() {
			se.closeUnlessAllowed()
		}
	}
}
