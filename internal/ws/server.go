package ws

import (
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
	"go.opentelemetry.io/otel/trace/noop"

	"laststand/internal/httpserver"
	"laststand/internal/protocol"
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
		se.reject(code, reason, func() {
			se.conn.Discard() // waits for the client's close frame
			se.conn.Close()
		})
		return
	}
	go se.start() // Drain waits for it
}

// DuelPlayers returns how many players at this node play a duel or wait for one.
func (s *Server) DuelPlayers() int64 { return s.duelPlayers.Load() + s.Lobby.LocalTickets() }

// refuseUpgrade replies to a request that cannot become a websocket, with a problem
// document (RFC 9457).
func refuseUpgrade(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	code := protocol.CodeBadRequest
	if status == http.StatusForbidden {
		code = protocol.CodeForbidden
	}
	problem := httpserver.NewProblem(protocol.Errorf(code, "%s", reason))
	problem.Status, problem.Title = status, http.StatusText(status)
	w.Header().Set("Sec-Websocket-Version", "13")
	httpserver.WriteProblem(w, problem)
}
