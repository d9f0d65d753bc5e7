package ws

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
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

// PlayerReporter reports when players are connected to this node.
type PlayerReporter interface {
	// Enter reports a player as online; pi is "" if the player is not verified. The caller
	// calls leave once, which reports the player as offline. Neither function blocks.
	Enter(game, player, pi string) (leave func())
}

// Arenas handles the requests for matches with many players; *arena.Service implements
// it. A refusal is a *protocol.Error. Join also returns a function, never nil, that the
// caller runs after the reply.
type Arenas interface {
	Join(ctx context.Context, req arena.JoinRequest) (protocol.ArenaJoined, func(), error)
	Leave(ctx context.Context, game, player, arenaID string) error
	Start(ctx context.Context, game, caller, arenaID string) error
	Close(ctx context.Context, game, caller, arenaID string) error
	Lock(ctx context.Context, game, caller, arenaID string) error
	Next(ctx context.Context, game, caller string, next protocol.ArenaNext) error
	Kick(ctx context.Context, game, caller string, kick protocol.ArenaKick) error
	Extend(ctx context.Context, game, caller string, extend protocol.ArenaExtend) (protocol.ArenaExtended, error)
}

// Boards pushes leaderboards to the sessions that watch them; *leaderboard.Display
// implements it. Watch calls push with an encoded frame now and after each change, until
// the caller calls leave.
type Boards interface {
	Watch(ctx context.Context, game string, query leaderboard.Query, push func(frame []byte)) (leave func(), err error)
}

// SessionNumbers gives each session of a player a number. All nodes share the numbers: of
// two sessions of one player, the one with the higher number is newer.
type SessionNumbers interface {
	// Assign returns a new number for a session that starts at this node, higher than all
	// earlier numbers of the player. It also returns the node of the player's former
	// session, or "" if none is known.
	Assign(ctx context.Context, game, player string) (number int64, formerNode string, err error)
	// Newest returns the highest number assigned to a session of the player, or 0 if none
	// is known.
	Newest(ctx context.Context, game, player string) (int64, error)
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
	Reporter PlayerReporter // nil: nothing is reported
	Wheel    *timer.Wheel
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
	Tracer   trace.Tracer // traces answers; nil: none

	// SessionNumbers orders the sessions of a player. NotifyReplaced asks another node to
	// call its Server.CloseReplaced, because a newer session has started here. It returns
	// soon. The notification may get lost.
	SessionNumbers SessionNumbers
	NotifyReplaced func(ctx context.Context, node, game, player string, number int64)

	MaxConnections    int64         // maximum of connections at this node
	MessagesPerSecond float64       // messages per second and session: the rate of its token bucket, and the bucket's size
	PingInterval      time.Duration // time between two pings to a client

	Limits          Limits
	LoadShedder     LoadShedder
	ClientAddress   func(r *http.Request) netip.Addr // the client's address for the limits
	OnSingleAddress func(from netip.Addr)            // called if an address has PerAddress sessions and no other address is connected; nil: not called
	IsOriginAllowed func(r *http.Request) bool       // whether the page that sent the request may connect; nil: pages of the same host and other programs may
}

const (
	helloTimeout    = 5 * time.Second  // from the connection to the hello
	writeTimeout    = 10 * time.Second // for a client to accept frames
	closeTimeout    = 2 * time.Second  // each: for queued frames, for the close frame, for the client's close frame
	callTimeout     = 5 * time.Second  // for handling one request
	admissionWait   = 4 * time.Second  // for LoadShedder.AwaitHello, in addition
	messageTimeout  = 10 * time.Second // from the first byte of a message to its last
	quietAfter      = 2 * time.Second  // a connection parks after this time without a message
	slowCallDivisor = 5                // divides callTimeout for a request that follows a slow failure
	retryMS         = 2000             // rejected clients retry after at least this time

	maxRejecting = 512 // connections that are being rejected at the same time
	maxLookups   = 64  // lookups of newer sessions that run at the same time
)

// LoadShedder decides which work the node refuses while it is overloaded;
// *overload.Shedder implements it. ShouldShed returns true if the node refuses work of a
// kind now. Check returns the refusal, or nil if the work is allowed. AwaitHello makes a new
// hello wait until the node has capacity, or returns the refusal. Acquire lets a player
// join a duel, or returns the refusal. The caller calls release when Server.DuelPlayers
// counts the player, or when the join has failed.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
	AwaitHello(ctx context.Context) error
	Acquire(kind overload.Kind) (release func(), err error)
}

// services are what all sessions of a server use.
type services struct {
	Config
	metrics      *metrics
	draining     atomic.Bool
	hellos       context.Context //nolint:containedctx // parent of the contexts of hellos; ends when a drain has closed all sessions
	cancelHellos func()          // ends the context
	duelPlayers  atomic.Int64    // players whose duels run

	helloTimeout, callTimeout time.Duration

	messages  overload.BucketConfig // of the sessions' buckets of messages
	parker    *wsconn.Parker
	places    *overload.Places
	lookups   errgroup.Group      // Drain waits for it
	rejecting *semaphore.Weighted // one unit per connection that connection.reject rejects

	bindMu sync.Mutex // held while a session is bound to its player
}

// init sets the fields that Config and the limits decide.
func (s *services) init(config Config) {
	s.Config, s.metrics = config, newMetrics(config.Registry)
	s.helloTimeout, s.callTimeout = helloTimeout, callTimeout
	s.hellos, s.cancelHellos = context.WithCancel(context.Background())
	s.messages = overload.BucketConfig{Burst: max(int(config.MessagesPerSecond), 1), Interval: time.Duration(float64(time.Second) / config.MessagesPerSecond)}
	s.lookups.SetLimit(maxLookups)
	s.rejecting = semaphore.NewWeighted(maxRejecting)
	s.parker = wsconn.NewParker(wsconn.Config{
		MessageTimeout: messageTimeout, WriteTimeout: writeTimeout, CloseTimeout: closeTimeout, QuietAfter: quietAfter,
		Parked: s.metrics.parked, Wakeups: s.metrics.wakeups,
	})
	s.Limits.Max = config.MaxConnections
	s.places = overload.NewPlaces(s.Limits.PlacesConfig)
}
