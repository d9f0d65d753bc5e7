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
	"laststand/internal/limit"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/origin"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// Identity checks tokens and players; *identity.Registry implements it. Verify checks a
// token. Ensure returns the player of a token and registers a new one. CheckHost refuses
// a host who is no longer allowed. CheckActive refuses a banned player and a revoked
// token; it uses no store.
type Identity interface {
	Verify(ctx context.Context, token string) (identity.Claims, error)
	Ensure(ctx context.Context, c identity.Claims) (identity.Player, error)
	CheckHost(ctx context.Context, c identity.Claims) error
	CheckActive(c identity.Claims, id string) error
}

// Visits reports when players are connected to this node.
type Visits interface {
	// Enter starts a visit of a player; pi is "" if the player is not verified. The caller
	// calls leave once, to end the visit. Neither function blocks.
	Enter(game, player, pi string) (leave func())
}

// Config configures a server. All fields are required except Registry, Origins and the
// fields whose comment says what nil means.
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
	Numbers        Numbers
	NotifyReplaced func(ctx context.Context, node, game, player string, number int64)

	Origins     []string      // allowed origins besides the same host, such as "https://example.com"
	Connections int64         // maximum of connections at this node
	PerSecond   float64       // messages per second and session: the rate of its token bucket, and the bucket's size
	PingEvery   time.Duration // time between two pings to a client

	Limits          Limits
	LoadShedder     LoadShedder                      // nil: the node is never overloaded
	DuelLimit       DuelLimit                        // nil: any number of duels
	ClientAddress   func(r *http.Request) netip.Addr // the client's address for the limits; nil: the connection's
	OnSingleAddress func(from netip.Addr)            // called if an address has PerAddress sessions and no other address is connected; nil: not called
	IsTLS           func(r *http.Request) bool       // whether the client's own connection uses TLS; nil: whether the request's does
}

const (
	helloWithin = 5 * time.Second  // from the connection to the hello
	writeWithin = 10 * time.Second // for a client to accept frames
	closeWithin = 2 * time.Second  // each: for queued frames, for the close frame, for the client's close frame
	callWithin  = 5 * time.Second  // for handling one request
	frameWithin = 10 * time.Second // from the first byte of a message to its last
	slowDivisor = 5                // divides callTimeout for a request that follows a slow failure
	retryMS     = 2000             // rejected clients retry after at least this time

	maxRejecting = 512 // connections that are being rejected at the same time
	maxLookups   = 64  // lookups of newer sessions that run at the same time

	violationWindow = 10 * time.Second // the third refused message within this time closes the session
)

// retryReason is the reason in the close frames of an overloaded server.
var retryReason = retryReasonAfter(retryMS)

func retryReasonAfter(ms int64) string { return fmt.Sprintf(`{"retry_after_ms":%d}`, ms) }

// Server accepts websockets. It is safe for concurrent use.
type Server struct {
	Config
	metrics        *metrics
	origins        origin.List
	upgrader       websocket.Upgrader
	draining       atomic.Bool
	running        sync.WaitGroup  // counts sessions; only addSession adds, under mu
	awaiting       context.Context //nolint:containedctx // parent of the waits for admission; ends when a drain has closed all sessions
	cancelAwaiting func()          // ends the context

	rejecting, lookups              boundedGroup
	callDeadline, shortCallDeadline sharedDeadline

	helloWithin, frameWithin, writeWithin, callWithin time.Duration

	parker  parker
	replays replayTimes

	bindMu sync.Mutex // held while a session is bound to its player

	mu           sync.Mutex
	sessions     map[*session]struct{}
	perAddress   map[limit.Key]int64 // number of sessions by address; only values above 0
	pendingHello pendingHellos       // sessions that have sent no hello
	evicted      int64               // number of sessions that are being closed so that others get their places

	evictSet   bool // evictTimer is set
	evictTimer timer.Timer
}

// New makes a server. The caller serves it as an http.Handler and calls Drain at the end.
func New(c Config) *Server {
	s := &Server{
		Config: c, metrics: newMetrics(c.Registry), origins: origin.NewList(c.Origins),
		sessions: make(map[*session]struct{}), perAddress: make(map[limit.Key]int64),
		rejecting: boundedGroup{limit: maxRejecting}, lookups: boundedGroup{limit: maxLookups},
		helloWithin: helloWithin, frameWithin: frameWithin, writeWithin: writeWithin, callWithin: callWithin,
	}
	s.awaiting, s.cancelAwaiting = context.WithCancel(context.Background())
	s.parker.init(s)
	if s.LoadShedder == nil {
		s.LoadShedder = unlimited{}
	}
	if s.DuelLimit == nil {
		s.DuelLimit = unlimited{}
	}
	if s.ClientAddress == nil {
		s.ClientAddress = remoteAddress
	}
	if s.IsTLS == nil {
		s.IsTLS = func(r *http.Request) bool { return r.TLS != nil }
	}
	s.upgrader = websocket.Upgrader{
		HandshakeTimeout: helloWithin,
		Subprotocols:     []string{protocol.Subprotocol},
		ReadBufferSize:   1,              // the minimum: clientConn reads and writes the frames
		WriteBufferPool:  new(sync.Pool), // so that the upgrader allocates no buffer
		CheckOrigin:      s.isOriginAllowed,
		Error:            refuseUpgrade,
	}
	return s
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
	from := s.ClientAddress(r)
	se := newSession(s, newClientConn(conn.NetConn(), s.frameWithin), from)
	e := s.register(se)
	if e.onlyAddress && s.OnSingleAddress != nil {
		s.OnSingleAddress(from)
	}
	if e.code != 0 {
		s.rejectConn(se.conn, e.code, e.reason)
		return
	}
	if e.evict != nil {
		e.evict.evict(e.abrupt)
	}
	go se.start() // s.running waits for it
}

// openSessions returns all registered sessions.
func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*session, 0, len(s.sessions))
	for se := range s.sessions {
		all = append(all, se)
	}
	return all
}
