package ws

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/timer"
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
	slowCallDivisor = 5                // divides callTimeout for a request that follows a slow failure
	retryMS         = 2000             // rejected clients retry after at least this time

	maxRejecting = 512 // connections that are being rejected at the same time
	maxLookups   = 64  // lookups of newer sessions that run at the same time

	refusalWindow = 10 * time.Second // the third refused message within this time closes the session
)

// retryReason is the reason in the close frames of an overloaded server.
var retryReason = retryReasonAfter(retryMS)

func retryReasonAfter(ms int64) string { return fmt.Sprintf(`{"retry_after_ms":%d}`, ms) }

// Server accepts websockets. It is safe for concurrent use.
type Server struct {
	Config
	metrics          *metrics
	upgrader         websocket.Upgrader
	draining         atomic.Bool
	runningSessions  sync.WaitGroup  // counts sessions; only addSession adds, under mu
	helloWaits       context.Context //nolint:containedctx // parent of the waits for admission; ends when a drain has closed all sessions
	cancelHelloWaits func()          // ends the context

	rejecting, lookups              boundedGroup
	callDeadline, shortCallDeadline sharedDeadline

	helloTimeout, messageTimeout, writeTimeout, callTimeout time.Duration

	parker      parker
	longReplays longReplayTimes

	bindMu sync.Mutex // held while a session is bound to its player

	mu           sync.Mutex
	sessions     map[*session]struct{}
	perAddress   map[overload.Key]int64 // number of sessions by address; only values above 0
	pendingHello pendingHellos          // sessions that have sent no hello
	evictedCount int64                  // number of sessions that are being closed so that others get their places

	evictScheduled bool // evictTimer is set
	evictTimer     timer.Timer
}

// New makes a server. The caller serves it as an http.Handler and calls Drain at the end.
func New(config Config) *Server {
	server := &Server{
		Config: config, metrics: newMetrics(config.Registry),
		sessions: make(map[*session]struct{}), perAddress: make(map[overload.Key]int64),
		rejecting: boundedGroup{limit: maxRejecting}, lookups: boundedGroup{limit: maxLookups},
		helloTimeout: helloTimeout, messageTimeout: messageTimeout, writeTimeout: writeTimeout, callTimeout: callTimeout,
	}
	server.helloWaits, server.cancelHelloWaits = context.WithCancel(context.Background())
	server.parker.init(server)
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
	address := s.ClientAddress(r)
	se := newSession(s, newClientConn(conn.NetConn(), s.messageTimeout), address)
	result := s.register(se)
	if result.isSingleAddress && s.OnSingleAddress != nil {
		s.OnSingleAddress(address)
	}
	if result.closeCode != 0 {
		s.rejectConn(se.conn, result.closeCode, result.closeReason)
		return
	}
	if result.victim != nil {
		result.victim.evict(result.abortVictim)
	}
	go se.start() // s.running waits for it
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
