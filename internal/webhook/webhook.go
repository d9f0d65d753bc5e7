package webhook

import (
	"context"
	"errors"
	"net/url"
	"time"

	"laststand/internal/leaderboard"
)

// ErrNoEndpoint means that the configuration has no endpoint of that game and name.
var ErrNoEndpoint = errors.New("there is no such endpoint")

// The types of events.
const (
	MatchSettled   = "match.settled"   // the result of a match is in the ledger
	ArenaOver      = "arena.over"      // the result of an arena's match is in the ledger
	MatchCorrected = "match.corrected" // a match was counted again without a question
	DaySealed      = "day.sealed"      // a day of the leaderboards is over, with its top lists
	Ping           = "webhook.ping"    // an operator tests an endpoint
)

// EventTypes returns the types that an endpoint may subscribe to.
func EventTypes() []string { return []string{MatchSettled, ArenaOver, MatchCorrected, DaySealed} }

// The kinds of tasks of this package, see taskqueue.Kind. A task of DeliveryKind sends
// one event to one endpoint. A task of SealedDayKind reads the top lists of an ended day
// and enqueues deliveries.
const (
	DeliveryKind  = "webhook"
	SealedDayKind = "seal"
)

// Endpoint is a receiver of a game's events, as the operator has configured it.
type Endpoint struct {
	Game, Name   string
	URL          string   // may contain secrets
	AllowPrivate bool     // the URL may lead to an address in a private network
	Events       []string // types of events that it gets; none means all
	Ordered      bool     // deliver one event at a time, in order: a failed delivery delays the deliveries after it
}

// host returns the scheme and host of the URL, without parts that may be secret.
func (e *Endpoint) host() string {
	parsed, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// Topic returns the topic of the endpoint's deliveries.
func (e *Endpoint) Topic() string { return DeliveryKind + "/" + e.Game + "/" + e.Name }

// Message is an encoded event. It is the same for all attempts.
type Message struct {
	ID   string // of the event, the same for all endpoints
	Body []byte // JSON: type, timestamp, data
}

// Reply is the reply of an endpoint to an attempt.
type Reply struct {
	Status     int           // HTTP status; 0: no reply arrived
	RetryAfter time.Duration // the pause that the endpoint asks for; 0: none
	Err        error         // why the endpoint did not accept the message, for operators; nil: it accepted it
}

// Poster sends messages; *httpserver.Poster implements it. It limits the time of each
// attempt, and is safe for concurrent use.
type Poster interface {
	Post(ctx context.Context, endpoint Endpoint, message Message) Reply
}

// State is the stored state of an endpoint, which all nodes share.
type State struct {
	Game     string `json:"game"`
	Name     string `json:"name"`
	Disabled string `json:"disabled_reason,omitempty"` // "": the endpoint is enabled
	Since    int64  `json:"disabled_at,omitempty"`     // epoch ms, by the database's clock
}

// EndpointStates stores the states of endpoints; *ledger.Endpoints implements it. An
// endpoint without a stored state is enabled.
type EndpointStates interface {
	EndpointStates(ctx context.Context) ([]State, error)
	// DisableEndpoint changes nothing if the endpoint is disabled already.
	DisableEndpoint(ctx context.Context, game, name, cause string) error
	EnableEndpoint(ctx context.Context, game, name string) error
}

// TopLists reads the top lists of an ended day; *leaderboard.TopLists implements it.
type TopLists interface {
	// Top returns the first entries by value, at most limit, and how many entries are
	// ranked.
	Top(ctx context.Context, game, date string, kind leaderboard.Kind, limit int) (entries []leaderboard.Entry, total int64, err error)
}

// TaskCounter counts tasks in the queue; *ledger.TaskStore implements it.
type TaskCounter interface {
	// CountTasks returns how many tasks of a topic have not ended, and how many are
	// dead. Each number is at most upTo.
	CountTasks(ctx context.Context, topic string, upTo int) (waiting, dead int64, err error)
}

// Status is the state of an endpoint that operators can see.
type Status struct {
	State

	URL     string   `json:"url"` // scheme and host, without parts that may be secret
	Events  []string `json:"events"`
	Ordered bool     `json:"ordered,omitempty"`
	Waiting int64    `json:"waiting"`            // deliveries that have not ended, counted up to 100,000
	Dead    int64    `json:"dead"`               // deliveries that wait for an operator, counted up to 100,000
	Error   string   `json:"error,omitempty"`    // of the last failed attempt at this node
	ErrorAt int64    `json:"error_at,omitempty"` // epoch ms

	AcceptedAt int64 `json:"accepted_at,omitempty"` // when the endpoint last accepted a message of this node, epoch ms
}

// PingResult is the reply of an endpoint to a ping. Status is the HTTP status, 0 if no
// reply arrived.
type PingResult struct {
	ID     string `json:"id"`
	Status int    `json:"status,omitempty"`
	TookMS int64  `json:"took_ms"`
	Error  string `json:"error,omitempty"`
}
