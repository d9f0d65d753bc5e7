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

// Identity checks tokens; *identity.Registry implements it. Stands uses no store.
type Identity interface {
	Verify(ctx context.Context, token string) (identity.Claims, error)
	Ensure(ctx context.Context, c identity.Claims) (identity.Player, error)
	CheckHost(ctx context.Context, c identity.Claims) error
	CheckActive(c identity.Claims, id string) error
}

// Visits reports when players are connected to this node.
type Visits interface {
	// Enter begins a visit of a player; pi is "" if the player is not verified. The
	// caller calls the returned function once, to end the visit. Neither blocks.
	Enter(game, player, pi string) (leave func())
}

// Config configures a server. All fields are required but Visits, Registry, Origins and
// those that say what nil means.
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

	// Numbers orders the sessions of a player. NotifyReplaced asks another node to call
	// its Replaced, because a newer session has begun here. It returns soon and may
	// fail.
	Numbers        Numbers
	NotifyReplaced func(ctx context.Context, node, game, player string, number int64)

	Origins     []string // allowed besides the same host, as "https://example.com"
	Connections int64    // maximum at this node
	PerSecond   float64  // messages of one session: size of its bucket, and tokens per second
	PingEvery   time.Duration

	Limits          Limits
	LoadShedder     LoadShedder                      // nil: the node is never overloaded
	DuelLimit       DuelLimit                        // nil: any number of duels
	ClientAddress   func(r *http.Request) netip.Addr // the client's address for the limits; nil: the connection's
	OnSingleAddress func(from netip.Addr)            // called if one address has used PerAddress and no other address is connected; nil: not called
	IsTLS           func(r *http.Request) bool       // whether the client's own connection uses TLS; nil: whether the request's does
}

const (
	helloWithin = 5 * time.Second
	writeWithin = 10 * time.Second
	closeWithin = 2 * time.Second // each: for queued frames, for the close frame, for the client's close frame
	callWithin  = 5 * time.Second
	frameWithin = 10 * time.Second // for a message that has begun
	slowDivisor = 5                // divides callWithin for a request that follows a slow failure
	retryMS     = 2000             // clients retry after this time

	maxRejecting = 512 // connections that are being rejected
	maxLookups   = 64  // lookups of a newer session

	violationWindow = 10 * time.Second // the third refused message within this time closes the session
)

// retryReason is the reason in the close frame of an overloaded server.
var retryReason = retryReasonAfter(retryMS)

func retryReasonAfter(ms int64) string { return fmt.Sprintf(`{"retry_after_ms":%d}`, ms) }

// Server accepts websockets. It is safe for concurrent use.
type Server struct {
	Config
	metrics        *metrics
	origins        origin.List
	upgrader       websocket.Upgrader
	draining       atomic.Bool
	running        sync.WaitGroup  // counts sessions; only register adds, under mu
	awaiting       context.Context //nolint:containedctx // ends when a drain has closed all sessions that wait for admission
	cancelAwaiting func()          // ends awaiting

	rejecting, lookups              boundedGroup
	callDeadline, shortCallDeadline sharedDeadline

	helloWithin, frameWithin, writeWithin, callWithin time.Duration

	parker  parker
	replays replayTimes

	bindMu sync.Mutex // held while a session is bound to its player

	mu           sync.Mutex
	sessions     map[*session]struct{}
	perAddress   map[limit.Key]int64 // sessions by address; only values above 0
	pendingHello pendingHellos       // sessions that have sent no hello
	evicted      int64               // sessions that are being closed in favour of others

	evictSet   bool // evictTimer is set
	evictTimer timer.Timer
}

// New makes a server.
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

// ServeHTTP upgrades a request and returns. The session runs in a goroutine of its own,
// so that nothing of the request stays in memory. A full or draining server accepts the
// websocket and closes it, since browsers cannot read a refused upgrade.
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

func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*session, 0, len(s.sessions))
	for se := range s.sessions {
		all = append(all, se)
	}
	return all
}
