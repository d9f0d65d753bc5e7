// Package webhook tells an operator's own services what has happened: that a match
// is settled, an arena over, a day sealed. An event is written as tasks of the
// durable queue, one for each endpoint that wants it, in the transaction of what
// it tells of; so it is told if and only if that happened, at least once, with
// the same id however often.
//
// A Book knows the endpoints and writes events as tasks; an Office works these
// tasks, and is where operators look after the endpoints.
package webhook

import (
	"context"
	"errors"
	"time"

	"laststand/internal/leaderboard"
)

// ErrNoEndpoint says that the configuration has no endpoint of that game and name.
var ErrNoEndpoint = errors.New("there is no such endpoint")

// The types of events.
const (
	MatchSettled = "match.settled" // its result is in the ledger
	ArenaOver    = "arena.over"    // a match of an arena is, likewise
	DaySealed    = "day.sealed"    // a day of the boards is over, with its top lists
	Ping         = "webhook.ping"  // an operator tries an endpoint
)

// Events are the types that an endpoint may want.
func Events() []string { return []string{MatchSettled, ArenaOver, DaySealed} }

// Kind is that of the topics of deliveries, SealKind that of days that are over
// and whose top lists are still to be read: see taskqueue.Kind.
const (
	Kind     = "webhook"
	SealKind = "seal"
)

// Endpoint is where the events of a game go that it wants. Its name is the
// game's own.
type Endpoint struct {
	Game, Name string
	Events     []string // none: all
	Ordered    bool     // one at a time, in their order: one that fails holds up those behind it
}

// Topic is that of the endpoint's deliveries.
func (e *Endpoint) Topic() string { return Kind + "/" + e.Game + "/" + e.Name }

// Message is an event as it is sent: the same over all tries.
type Message struct {
	ID   string // of the event, the same at all endpoints
	Body []byte // JSON: type, timestamp, data
}

// Reply is how an endpoint answered a try.
type Reply struct {
	Status     int           // of HTTP; 0: there was no answer
	RetryAfter time.Duration // it asks to be left alone for so long
	Err        error         // why it was not accepted, in words that an operator may see; nil: it was
}

// Poster sends messages. A try is bounded by the poster; it is for concurrent use.
type Poster interface {
	Post(ctx context.Context, e Endpoint, m Message) Reply
	// Host is where to, without what may be secret: scheme and host.
	Host(e Endpoint) string
}

// State is what is kept of an endpoint, by every node alike.
type State struct {
	Game     string `json:"game"`
	Name     string `json:"name"`
	Disabled string `json:"disabled_reason,omitempty"` // "": the endpoint is enabled
	Since    int64  `json:"disabled_at,omitempty"`     // epoch ms, by the database's clock
}

// States keeps what is said of endpoints; *ledger.Ledger. Those of whom nothing
// was said are not disabled.
type States interface {
	EndpointStates(ctx context.Context) ([]State, error)
	// DisableEndpoint leaves one alone that is disabled already.
	DisableEndpoint(ctx context.Context, game, name, cause string) error
	EnableEndpoint(ctx context.Context, game, name string) error
}

// TopLists reads the best of a day that is over; *leaderboard.TopLists.
type TopLists interface {
	// Top gives the first n by value, and how many are ranked.
	Top(ctx context.Context, game, date string, kind leaderboard.Kind, n int) (entries []leaderboard.TopEntry, total int64, err error)
}

// Counts says what the queue holds; *ledger.Ledger.
type Counts interface {
	// CountTasks is how many tasks of a topic have not ended, and how many are
	// dead, each counted up to a number.
	CountTasks(ctx context.Context, topic string, upTo int) (waiting, dead int64, err error)
}

// Status is an endpoint as an operator sees it.
type Status struct {
	State

	URL     string   `json:"url"` // see Poster.Host
	Events  []string `json:"events"`
	Ordered bool     `json:"ordered,omitempty"`
	Waiting int64    `json:"waiting"`            // deliveries that have not ended, counted up to 100,000
	Dead    int64    `json:"dead"`               // that wait for an operator, counted likewise
	Error   string   `json:"error,omitempty"`    // of the last try at this node that failed
	ErrorAt int64    `json:"error_at,omitempty"` // epoch ms
}

// Pinged is how an endpoint answered a ping.
type PingResult struct {
	ID     string `json:"id"`
	Status int    `json:"status,omitempty"`
	TookMS int64  `json:"took_ms"`
	Error  string `json:"error,omitempty"`
}
