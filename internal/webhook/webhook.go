package webhook

import (
	"context"
	"errors"
	"time"

	"laststand/internal/leaderboard"
)

// ErrNoEndpoint says that the configuration has no endpoint of that game and name.
var ErrNoEndpoint = errors.New("there is no such endpoint")

// These are the types of events.
const (
	MatchSettled = "match.settled" // its result is in the ledger
	ArenaOver    = "arena.over"    // the result of an arena's match is in the ledger
	DaySealed    = "day.sealed"    // a day of the leaderboards is over, with its top lists
	Ping         = "webhook.ping"  // an operator tests an endpoint
)

// Events returns the types that an endpoint may subscribe to.
func Events() []string { return []string{MatchSettled, ArenaOver, DaySealed} }

// Kind is the kind of the topics of deliveries. SealKind is that of ended days
// with top lists that are still to read: see taskqueue.Kind.
const (
	Kind     = "webhook"
	SealKind = "seal"
)

// Endpoint is a receiver of a game's events. The game chooses its name.
type Endpoint struct {
	Game, Name string
	Events     []string // none: all
	Ordered    bool     // one at a time, in order: a failed delivery holds up those behind it
}

// Topic returns the topic of the endpoint's deliveries.
func (e *Endpoint) Topic() string { return Kind + "/" + e.Game + "/" + e.Name }

// Message is an event as it is sent, the same for all attempts.
type Message struct {
	ID   string // of the event, the same at all endpoints
	Body []byte // JSON: type, timestamp, data
}

// Reply is the answer of an endpoint to an attempt.
type Reply struct {
	Status     int           // of HTTP; 0: there was no answer
	RetryAfter time.Duration // the pause that the endpoint asks for
	Err        error         // why the endpoint did not accept it, in words for operators; nil: it did
}

// Poster sends messages. It bounds each attempt, and is safe for concurrent use.
type Poster interface {
	Post(ctx context.Context, e Endpoint, m Message) Reply
	// Host returns the scheme and host of the URL, without parts that may be
	// secret.
	Host(e Endpoint) string
}

// State is the stored state of an endpoint, the same for all nodes.
type State struct {
	Game     string `json:"game"`
	Name     string `json:"name"`
	Disabled string `json:"disabled_reason,omitempty"` // "": the endpoint is enabled
	Since    int64  `json:"disabled_at,omitempty"`     // epoch ms, by the database's clock
}

// States stores the states of endpoints; *ledger.Ledger. An endpoint without a
// stored state is enabled.
type States interface {
	EndpointStates(ctx context.Context) ([]State, error)
	// DisableEndpoint changes nothing if the endpoint is disabled already.
	DisableEndpoint(ctx context.Context, game, name, cause string) error
	EnableEndpoint(ctx context.Context, game, name string) error
}

// TopLists reads the best of an ended day; *leaderboard.TopLists.
type TopLists interface {
	// Top returns the first n by value, and how many are ranked.
	Top(ctx context.Context, game, date string, kind leaderboard.Kind, n int) (entries []leaderboard.TopEntry, total int64, err error)
}

// Counts counts tasks in the queue; *ledger.Ledger.
type Counts interface {
	// CountTasks returns how many tasks of a topic have not ended, and how many
	// are dead. It counts each up to upTo.
	CountTasks(ctx context.Context, topic string, upTo int) (waiting, dead int64, err error)
}

// Status is an endpoint as an operator sees it.
type Status struct {
	State

	URL     string   `json:"url"` // see Poster.Host
	Events  []string `json:"events"`
	Ordered bool     `json:"ordered,omitempty"`
	Waiting int64    `json:"waiting"`            // deliveries that have not ended, counted up to 100,000
	Dead    int64    `json:"dead"`               // deliveries that wait for an operator, counted up to 100,000
	Error   string   `json:"error,omitempty"`    // of the last failed attempt at this node
	ErrorAt int64    `json:"error_at,omitempty"` // epoch ms
}

// PingResult is the answer of an endpoint to a ping.
type PingResult struct {
	ID     string `json:"id"`
	Status int    `json:"status,omitempty"`
	TookMS int64  `json:"took_ms"`
	Error  string `json:"error,omitempty"`
}
