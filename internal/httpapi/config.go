package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// Tokens verifies bearer tokens. *identity.Registry implements it. The error for
// an invalid token wraps identity.ErrToken.
type Tokens interface {
	Verify(ctx context.Context, token string) (identity.Claims, error)
}

// Guests registers guests and manages nicknames. *identity.Registry implements it.
type Guests interface {
	Guest(ctx context.Context, req identity.GuestRequest) (identity.Guest, error)
	Available(ctx context.Context, game, nickname string, requester identity.Requester) (identity.Availability, error)
	Rename(ctx context.Context, claims identity.Claims, nickname string, requester identity.Requester) (string, error)
	// Ensure returns the player of a token of role player.
	Ensure(ctx context.Context, claims identity.Claims) (identity.Player, error)
	// CheckHost returns an error if the host has been erased.
	CheckHost(ctx context.Context, claims identity.Claims) error
}

// Accounts erases players and links guests to accounts, as package identity does.
// player is the player id of the claims.
type Accounts interface {
	Erase(ctx context.Context, game, player string) error
	LinkAccount(ctx context.Context, req identity.LinkRequest) (account string, err error)
	RotateDevice(ctx context.Context, change identity.DeviceChange) error
}

// Players returns the public data of players, or identity.ErrNotFound.
type Players interface {
	Player(ctx context.Context, game, id string) (identity.Player, error)
}

// History returns settled matches.
//
// Matches returns the matches of one player, newest first, and the cursor of
// the next page, "" after the last one. The errors are match.ErrBadCursor and
// match.ErrNotFound.
type History interface {
	Matches(ctx context.Context, game, player, cursor string, limit int) ([]match.HistoryEntry, string, error)
	// Match returns a settled match without its standings. Standings returns
	// the standings with the indexes from to to-1. Both show the current
	// nicknames.
	Match(ctx context.Context, game, id string) (match.Summary, error)
	Standings(ctx context.Context, m match.Summary, from, to int) ([]protocol.OverStanding, error)
}

// Answers returns the answers of settled matches, with the errors of package answers.
// *ledger.Answers implements it. Match returns match.ErrNotFound if there is no such match.
// With answers.ErrOnTheWay and answers.ErrNotStored it returns the match without questions.
type Answers interface {
	Match(ctx context.Context, game, id string) (answers.Match, error)
	Of(ctx context.Context, m answers.Match, player string) ([]answers.Answer, error)
	answers.ReportSource
}

// Seats returns who plays in matches that are not settled yet. *match.Engine implements it.
// HasSeat returns match.ErrNotFound if there is no such match.
type Seats interface {
	HasSeat(ctx context.Context, game, match, player string) (bool, error)
}

// Arenas creates arenas and shows them. *arena.Service implements it. A refusal
// is a *protocol.Error. Create leaves the join URL of the new arena empty: this
// package sets it.
type Arenas interface {
	Create(ctx context.Context, req arena.CreateRequest) (protocol.ArenaMade, error)
	Show(ctx context.Context, game, code string) (protocol.ArenaLook, error)
	FindJoinInfo(ctx context.Context, game, code string) (arena.JoinInfo, error)
	FindRecord(ctx context.Context, game, arenaID string) (arena.Record, error)
	// CheckOver returns nil if an arena has ended and its result is not on its way to the
	// ledger.
	CheckOver(ctx context.Context, r arena.Record) error
	ListHosted(ctx context.Context, game, host, cursor string, limit int) ([]protocol.HostedArena, string, error)
}

// Voids counts settled matches again without a question, with the errors of package answers.
// isNew is false if the question was void before.
type Voids interface {
	MakeVoid(ctx context.Context, v answers.Void) (isNew bool, err error)
}

// Behaviours queues the behaviours of a game: the events to report.
// *eventq.Service implements it. Each body may be any text. The queue drops the
// invalid bodies and accepts the others. The error eventq.ErrFull means that it
// accepted none.
type Behaviours interface {
	Post(ctx context.Context, game string, bodies []json.RawMessage) (eventq.PostResult, error)
}

// Tasks is the durable task queue of the services of each game.
// *taskqueue.TenantQueue implements it and returns the errors of the taskqueue
// package.
type Tasks interface {
	Enqueue(ctx context.Context, game string, tasks []taskqueue.NewTask) ([]taskqueue.Accepted, error)
	Claim(ctx context.Context, game string, poll taskqueue.Poll) ([]taskqueue.Task, error)
	Renew(ctx context.Context, game string, leases []taskqueue.Lease, lease time.Duration) (lost []taskqueue.Lease, err error)
	Complete(ctx context.Context, game string, leases []taskqueue.Lease) (lost []taskqueue.Lease, err error)
	Fail(ctx context.Context, game string, failed []taskqueue.FailedAttempt) (lost []taskqueue.Lease, err error)
	Task(ctx context.Context, game, id string) (taskqueue.Task, error)
}

// Boards reads leaderboards. *leaderboard.Display implements it. ForgetName removes
// a player's nickname from its cache, after the nickname has changed.
type Boards interface {
	Listing(ctx context.Context, game string) (leaderboard.Answer, error)
	Page(ctx context.Context, game string, query leaderboard.Query) (leaderboard.Answer, error)
	Standing(ctx context.Context, game string, query leaderboard.StandingQuery) (leaderboard.Answer, error)
	ForgetName(game, player string)
}

// LoadShedder refuses work while the node is overloaded. *overload.Shedder
// implements it. ShouldShed returns true if the node refuses work of a kind now.
// Check returns the refusal, or nil. Acquire counts a request until the caller calls
// release, or refuses it if too many run.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
	Acquire(kind overload.Kind) (release func(), err error)
}

// Limits holds the rate limits of the HTTP API. A nil rule means no limit.
type Limits struct {
	GuestCalls       *overload.Rule           // all requests for guests, per address
	NewGuests        *overload.Rule           // new guests without an arena code, per address
	GuestsWithCode   *overload.Rule           // new guests with an arena code, per address; its burst must allow the largest arena
	GuestsPerArena   *overload.Rule           // new guests with an arena code, per arena
	NewGuestsPerDay  *overload.Rule           // all new guests, per address
	ArenaCodes       *overload.FailureLimiter // wrong arena codes, per address
	Nicknames        *overload.Rule           // nickname lookups, per address
	Reads            *overload.Rule           // reads of leaderboards, profiles, matches and arenas, per address
	ArenasPerHost    *overload.Rule           // created arenas, per host
	ArenasPerAddress *overload.Rule           // arenas that players create, per address
	Erasures         *overload.Rule           // players who erase themselves, per address
	Changes          *overload.Rule           // changes of nickname and account, per player
	Behaviours       *overload.Rule           // behaviours, per service
	Tasks            *overload.Rule           // task requests, per service
}

// Config configures the handler. All fields are required.
type Config struct {
	Games      []string
	Tokens     Tokens
	Guests     Guests
	Accounts   Accounts
	Players    Players
	History    History
	Answers    Answers
	Seats      Seats
	Boards     Boards
	Arenas     Arenas
	Voids      Voids
	Behaviours Behaviours
	Tasks      Tasks
	Logger     *slog.Logger
	Registry   prometheus.Registerer
	Tracer     trace.Tracer // traces requests by route; nil: none

	Websocket       http.Handler                           // serves /v1/ws, without the wrappers of the other routes
	Page            http.Handler                           // serves every path outside the API
	IsOriginAllowed func(*http.Request) bool               // whether the page that sent the request may read the response
	ReadinessChecks map[string]func(context.Context) error // for /readyz, by name: the response has the name, the log has the error
	IsDraining      func() bool                            // whether the node refuses new players
	IsStoreDown     func(error) bool                       // whether an error means that a store is down, so a retry may succeed
	Limits          Limits
	ClientAddress   func(*http.Request) netip.Addr // the client's address for the rate limits
	LoadShedder     LoadShedder
	IsTLS           func(*http.Request) bool // whether the client uses TLS, to this node or to a trusted proxy
	RevocableCalls  *RevocableCalls          // ends long polls whose token was revoked
	Version         string                   // version of the server, for /healthz
}

// api answers the requests of all routes. It authenticates their clients and
// applies the limits to them.
type api struct {
	Config
	metrics     *metrics
	reportSlots reportSlots
	summaries   *answers.Summaries
}
