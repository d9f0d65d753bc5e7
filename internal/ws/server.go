package ws

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/timer"
	"laststand/internal/wsconn"
)

// Identity checks tokens and players; *identity.Registry implements it. Verify checks a
// token. Ensure returns the player of a token and registers a new one. CheckHost refuses
// a host who is no longer allowed. CheckActive refuses a banned player and a revoked
// token; it uses no store.
type Identity interface {
	Verify(ctx context.Context, token string) (identity.Claims, error)
	Ensure(ctx context.Context, claims identity.Claims) (identity.Player, error)
	CheckHost(ctx context.Context, claims identity.Claims) error
	CheckActive(claims identity.Claims, playerID string) error
}

// Visits reports when players are connected to this node.
type Visits interface {
	// Enter starts a visit of a player; pi is "" if the player is not verified. The caller
	// calls leave once, to end the visit. Neither function blocks.
	Enter(game, player, pi string) (leave func())
}

// Config configures a server. All fields are required except Registry and the fields
// whose comment says what nil means.
type Config struct {
	Identity Identity
	Engine   *match.Engine
	Lobby    *lobby.Lobby
	Arenas   Arenas
	Boards   Boards
	Presence *match.Presence
	Visits   Visits // nil: visits are not reported
	Wheel    *timer.Wheel
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// SessionNumbers orders the sessions of a player. NotifyReplaced asks another node to
	// call its Server.CloseReplaced, because a newer session has started here. It returns
	// soon. The notification may get lost.
	SessionNumbers SessionNumbers
	NotifyReplaced func(ctx context.Context, node, game, player string, number int64)

	MaxConnections    int64         // maximum of connections at this node
	MessagesPerSecond float64       // messages per second and session: the rate of its token bucket, and the bucket's size
	PingInterval      time.Duration // time between two pings to a client

	Limits          Limits
	LoadShedder     LoadShedder                      // nil: the node is never overloaded
	DuelLimit       DuelLimit                        // nil: any number of duels
	ClientAddress   func(r *http.Request) netip.Addr // the client's address for the limits; nil: the connection's
	OnSingleAddress func(from netip.Addr)            // called if an address has PerAddress sessions and no other address is connected; nil: not called
	IsOriginAllowed func(r *http.Request) bool       // whether the page that sent the request may connect; nil: pages of the same host and other programs may
}

const (
	helloTimeout    = 5 * time.Second  // from the connection to the hello
	writeTimeout    = 10 * time.Second // for a client to accept frames
	closeTimeout    = 2 * time.Second  // each: for queued frames, for the close frame, for the client's close frame
	callTimeout     = 5 * time.Second  // for handling one request
	messageTimeout  = 10 * time.Second // from the first byte of a message to its last
	quietAfter      = 2 * time.Second  // a connection parks after this time without a message
	slowCallDivisor = 5                // divides callTimeout for a request that follows a slow failure
	retryMS         = 2000             // rejected clients retry after at least this time

	maxRejecting = 512 // connections that are being rejected at the same time
	maxLookups   = 64  // lookups of newer sessions that run at the same time

	refusalWindow = 10 * time.Second // the third refused message within this time closes the session
)

// Server accepts websockets. It is safe for concurrent use.
type Server struct {
	Config
	metrics          *metrics
	upgrader         websocket.Upgrader
	draining         atomic.Bool
	helloWaits       context.Context //nolint:containedctx // parent of the waits for admission; ends when a drain has closed all sessions
	cancelHelloWaits func()          // ends the context

	helloTimeout, callTimeout time.Duration

	parker             *wsconn.Parker
	places             *overload.Places
	longReplays        longReplayTimes
	rejecting, lookups errgroup.Group // Drain waits for both

	bindMu sync.Mutex // held while a session is bound to its player

	mu              sync.Mutex
	sessions        map[*session]struct{}
	runningSessions sync.WaitGroup // counts sessions; only register adds, under mu
}

// New makes a server. The caller serves it as an http.Handler, calls Run, and calls Drain
// at the end.
func New(config Config) *Server {
	server := &Server{
		Config: config, metrics: newMetrics(config.Registry), sessions: make(map[*session]struct{}),
		helloTimeout: helloTimeout, callTimeout: callTimeout,
	}
	server.helloWaits, server.cancelHelloWaits = context.WithCancel(context.Background())
	server.rejecting.SetLimit(maxRejecting)
	server.lookups.SetLimit(maxLookups)
	server.parker = wsconn.NewParker(wsconn.Config{
		MessageTimeout: messageTimeout, WriteTimeout: writeTimeout, CloseTimeout: closeTimeout, QuietAfter: quietAfter, CheckInterval: time.Second,
		Parked: server.metrics.parked, Wakeups: server.metrics.wakeups,
	})
	limits := config.Limits
	server.places = overload.NewPlaces(overload.PlacesConfig{
		Max: config.MaxConnections, PerAddress: limits.PerAddress,
		TotalCap: limits.TotalCap, AddressCap: limits.AddressCap, PendingCap: limits.PendingHelloCap,
	})
	if server.LoadShedder == nil {
		server.LoadShedder = unlimitedLoad{}
	}
	if server.DuelLimit == nil {
		server.DuelLimit = unlimitedLoad{}
	}
	if server.ClientAddress == nil {
		server.ClientAddress = remoteAddress
	}
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
	se := newSession(s, conn.NetConn(), s.ClientAddress(r))
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
	isRejecting := s.rejecting.TryGo(func() error {
		conn.SendClose(code, reason)
		conn.Discard()
		conn.Close()
		return nil
	})
	if isRejecting {
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

// remoteAddress returns the peer's address of a request's connection.
func remoteAddress(r *http.Request) netip.Addr {
	addrPort, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid without an IP address, as on a Unix socket
	return addrPort.Addr()
}
