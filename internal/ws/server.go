// Package ws is the players' websocket: hello, sessions, outboxes, limits. It
// translates frames into calls of the game and the game's pushes into frames,
// and decides nothing else.
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

// Identity says who a token speaks for; *identity.Registry. Stands asks no store.
type Identity interface {
	Verify(ctx context.Context, token string) (identity.Claims, error)
	Ensure(ctx context.Context, c identity.Claims) (identity.Player, error)
	CheckHost(ctx context.Context, c identity.Claims) error
	Stands(c identity.Claims, id string) error
}

// Visits are told of the stays of players here.
type Visits interface {
	// Enter begins a visit of a player, who is verified where there is a pi, and
	// gives what ends it, to be called once. Neither waits for anything.
	Enter(game, player, pi string) (leave func())
}

// Config is what a server is made of; all fields but Visits, Registry and
// Origins are needed.
type Config struct {
	Identity Identity
	Engine   *match.Engine
	Lobby    *lobby.Lobby
	Arenas   Arenas
	Boards   Boards
	Presence *match.Presence
	Visits   Visits // nil for nobody
	Wheel    *timer.Wheel
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// Numbers tell which session of a player is the newest. Replace tells a
	// node, unless it is this one, that a session of a number has begun: its
	// Replaced is to be called. It returns soon, and may fail.
	Numbers Numbers
	Replace func(ctx context.Context, node, game, player string, number int64)

	Origins     []string // allowed besides the same host, as "https://example.com"
	Connections int64    // the most at one node
	PerSecond   float64  // messages of one session: size and refill of its bucket
	PingEvery   time.Duration

	Limits   Limits
	Pressure Pressure                         // nil: the node is never hard-pressed
	Room     Room                             // nil: there is room for all
	Address  func(r *http.Request) netip.Addr // the client's, as limits count it; nil: that of the connection
	Alone    func(from netip.Addr)            // is told of an address that has its share while nobody else has a websocket; it may be nil
	Secure   func(r *http.Request) bool       // whether a client's own connection is TLS; nil: as the request's is
}

const (
	helloWithin = 5 * time.Second
	writeWithin = 10 * time.Second
	closeWithin = 2 * time.Second // each: for what is queued, the close frame, the client's
	callWithin  = 5 * time.Second
	frameWithin = 10 * time.Second // for a message that has begun
	hurry       = 5                // what divides callWithin for a request behind one that waited in vain
	retryMS     = 2000             // told to clients that are to come again

	awayAtOnce  = 512 // connections that are being turned away
	looksAtOnce = 64  // looks for a newer session

	faultsWithin = 10 * time.Second // which the third message too many within ends a session
)

// comeAgain is the reason with which an overloaded server closes.
var comeAgain = again(retryMS)

func again(ms int64) string { return fmt.Sprintf(`{"retry_after_ms":%d}`, ms) }

// Server accepts websockets. It is safe for concurrent use.
type Server struct {
	Config
	metrics  *metrics
	origins  origin.List
	upgrader websocket.Upgrader
	draining atomic.Bool
	running  sync.WaitGroup  // sessions; added to by enter only, under mu
	welcomes context.Context //nolint:containedctx // ends when a drain has closed all who wait for a turn
	noMore   func()          // ends it

	away, looks      aside
	patient, hurried sandglass

	helloWithin, frameWithin, writeWithin, callWithin time.Duration

	beds    beds
	replays replayTimes

	places sync.Mutex // held while a session takes its player's place

	mu       sync.Mutex
	sessions map[*session]struct{}
	each     map[limit.Key]int64 // of them, by address; those above 0
	silents  silents             // of them, that have not said hello
	parting  int64               // of them, that were closed for others' sake

	relieving bool // relief is set
	relief    timer.Timer
}

// New makes a server.
func New(c Config) *Server {
	s := &Server{
		Config: c, metrics: newMetrics(c.Registry), origins: origin.NewList(c.Origins),
		sessions: make(map[*session]struct{}), each: make(map[limit.Key]int64),
		away: aside{most: awayAtOnce}, looks: aside{most: looksAtOnce},
		helloWithin: helloWithin, frameWithin: frameWithin, writeWithin: writeWithin, callWithin: callWithin,
	}
	s.welcomes, s.noMore = context.WithCancel(context.Background())
	s.beds.init(s)
	if s.Pressure == nil {
		s.Pressure = calm{}
	}
	if s.Room == nil {
		s.Room = calm{}
	}
	if s.Address == nil {
		s.Address = peer
	}
	if s.Secure == nil {
		s.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	s.upgrader = websocket.Upgrader{
		HandshakeTimeout: helloWithin,
		Subprotocols:     []string{protocol.Subprotocol},
		ReadBufferSize:   1,              // the least: frames are read and written by wire
		WriteBufferPool:  new(sync.Pool), // so that none is made
		CheckOrigin:      s.originAllowed,
		Error:            refuseUpgrade,
	}
	return s
}

// ServeHTTP upgrades a request and returns: the session lives in a goroutine
// of its own, so that nothing of the request is kept. A server that is full or
// draining accepts and closes, since browsers cannot read a refused upgrade.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.metrics.refused.WithLabelValues("upgrade").Inc()
		return // the upgrader has answered
	}
	from := s.Address(r)
	se := newSession(s, newWire(conn.NetConn(), s.frameWithin), from)
	e := s.enter(se)
	if e.alone && s.Alone != nil {
		s.Alone(from)
	}
	if e.code != 0 {
		s.turnAway(se.wire, e.code, e.reason)
		return
	}
	if e.instead != nil {
		e.instead.giveWay(e.abrupt)
	}
	go se.begin() // s.running waits for it
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
