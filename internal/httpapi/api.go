// Package httpapi is the HTTP part of the wire contract: it translates requests
// into calls of the game and their outcomes into JSON, and decides nothing
// else. The routes are in routes.go, what an error becomes in errors.go.
package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"laststand/internal/arena"
	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/leaderboard/display"
	"laststand/internal/match"
	"laststand/internal/origin"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// Tokens verifies tokens; *identity.Registry. Errors wrap identity.ErrToken.
type Tokens interface {
	Verify(ctx context.Context, token string) (identity.Claims, error)
}

// Guests takes guests in and knows nicknames; *identity.Registry.
type Guests interface {
	Guest(ctx context.Context, r identity.GuestRequest) (identity.Guest, error)
	Available(ctx context.Context, game, nickname string, who identity.Asker) (identity.Availability, error)
	Rename(ctx context.Context, c identity.Claims, nickname string, who identity.Asker) (string, error)
	// Ensure gives the player whom a token of role player speaks for.
	Ensure(ctx context.Context, c identity.Claims) (identity.Player, error)
	// CheckHost refuses a host who has been erased.
	CheckHost(ctx context.Context, c identity.Claims) error
}

// Accounts end players and tie guests to accounts. Erase is of the player whose
// id the claims have, Tie as identity.Accounts' and Registry.AccountOf's.
type Accounts interface {
	Erase(ctx context.Context, game, player string) error
	Tie(ctx context.Context, t identity.Tying) (account string, err error)
	// RotateDevice is identity.Registry's.
	RotateDevice(ctx context.Context, c identity.DeviceChange) error
}

// Players gives what is public of players. Player returns identity.ErrNotFound
// where there is none.
type Players interface {
	Player(ctx context.Context, game, id string) (identity.Player, error)
}

// History gives settled matches. Matches are one player's, newest first, with
// the cursor of the next page, "" after the last; match.ErrBadCursor for one
// that it has not given. Match returns match.ErrNotFound where there is none.
type History interface {
	Matches(ctx context.Context, game, player, cursor string, limit int) ([]match.HistoryEntry, string, error)
	// Match gives a settled match without its standings, which are read in pages:
	// those from one index up to before another. Both have nicknames of today.
	Match(ctx context.Context, game, id string) (match.Summary, error)
	Standings(ctx context.Context, m match.Summary, from, to int) ([]protocol.OverStanding, error)
}

// Arenas makes arenas and shows them; *arena.Service. What it refuses is an
// *protocol.Error. The join URL of a made one is left to this package.
type Arenas interface {
	Create(ctx context.Context, c arena.CreateRequest) (protocol.ArenaMade, error)
	Show(ctx context.Context, game, code string) (protocol.ArenaLook, error)
	FindJoinInfo(ctx context.Context, game, code string) (arena.JoinInfo, error)
}

// Behaviours queues what is posted for a game; *eventq.Service. A body is
// any text: one that is no behaviour is dropped as such, and the others taken.
// eventq.ErrFull: none was taken.
type Behaviours interface {
	Post(ctx context.Context, game string, bodies []json.RawMessage) (eventq.PostResult, error)
}

// Tasks are the durable queue of each game's own services; *taskqueue.Front, which
// says what it refuses: taskqueue.ErrBadTask, ErrBadAsk, ErrCrowded, ErrNotFound.
type Tasks interface {
	Enqueue(ctx context.Context, game string, tasks []taskqueue.NewTask) ([]taskqueue.Accepted, error)
	Claim(ctx context.Context, game string, p taskqueue.Poll) ([]taskqueue.Task, error)
	Renew(ctx context.Context, game string, leases []taskqueue.Lease, lease time.Duration) (lost []taskqueue.Lease, err error)
	Complete(ctx context.Context, game string, leases []taskqueue.Lease) (lost []taskqueue.Lease, err error)
	Fail(ctx context.Context, game string, failed []taskqueue.FailedAttempt) (lost []taskqueue.Lease, err error)
	Task(ctx context.Context, game, id string) (taskqueue.Task, error)
}

// Boards answers leaderboard queries; *display.Display. Renamed has it show a
// player's new name from now on.
type Boards interface {
	Listing(ctx context.Context, game string) (display.Answer, error)
	Page(ctx context.Context, game string, q leaderboard.Query) (display.Answer, error)
	Standing(ctx context.Context, game string, q leaderboard.StandingQuery) (display.Answer, error)
	ForgetName(game, player string)
}

// Config is what the handler is made of. All fields of the first group are
// needed; the zero values of the second mean what is said there.
type Config struct {
	Games      []string
	Tokens     Tokens
	Guests     Guests
	Accounts   Accounts
	Players    Players
	History    History
	Boards     Boards
	Arenas     Arenas
	Behaviours Behaviours
	Tasks      Tasks
	Logger     *slog.Logger
	Registry   prometheus.Registerer

	Websocket http.Handler                           // of /v1/ws, handed the bare connection; nil: 404
	Page      http.Handler                           // of all that is not the API's; nil: 404
	Origins   []string                               // allowed besides the same host, as "https://example.com"
	Checks    map[string]func(context.Context) error // of /readyz; the name is shown, the error logged
	Draining  func() bool                            // the node takes no new players; nil: never
	Down      func(error) bool                       // a store's condition, to be tried again; nil: none is
	Limits    Limits                                 // the zero value sets none
	Address   func(*http.Request) netip.Addr         // the client's, as limits count it; nil: that of the connection
	Pressure  Pressure                               // nil: the node is never hard-pressed
	Secure    func(*http.Request) bool               // whether a client's own connection is TLS; nil: as the request's is
	Standing  *Standing                              // ends polls of who is barred; nil: they last
	Version   string                                 // of the server, shown by /healthz; "": /healthz shows none
}

type api struct {
	Config
	games    map[string]bool
	origins  origin.List
	metrics  *metrics
	checking singleflight.Group // of the readiness
}

// New makes the handler of everything that --listen serves. It is safe for
// concurrent use and starts nothing of its own. A request is given 5 s, its
// body included, and more where patience says so; but for those to Websocket and
// Page.
func New(c Config) http.Handler {
	if c.Draining == nil {
		c.Draining = func() bool { return false }
	}
	if c.Down == nil {
		c.Down = func(error) bool { return false }
	}
	if c.Address == nil {
		c.Address = peer
	}
	if c.Pressure == nil {
		c.Pressure = calm{}
	}
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	a := &api{Config: c, games: map[string]bool{}, origins: origin.NewList(c.Origins), metrics: newMetrics(c.Registry)}
	for _, g := range c.Games {
		a.games[g] = true
	}
	return a.mount()
}
