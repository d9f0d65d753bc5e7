// Package eventq is the bounded queue of what players do: per game it is
// collected, queued, and reported in batches while it is fresh, to whom the
// game names. It is best effort, and says of every one that is lost why:
// offered = sent + dropped + queued + in flight.
package eventq

import "encoding/json"

// Behaviour is something that a player did, as posted: the wire contract,
// section 5.
type Behaviour struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"` // one of the Type constants, or a word of the game's own
	At      int64           `json:"at"`   // when it was done, epoch ms
	Player  string          `json:"player,omitempty"`
	Device  string          `json:"device,omitempty"`
	Session string          `json:"session,omitempty"` // pairs an online with its offline
	Account string          `json:"account"`           // Verified or Guest
	PI      string          `json:"pi,omitempty"`      // a verified player's id at the NPPA
	Data    json.RawMessage `json:"data,omitempty"`    // an object
}

// Types that the server itself reports of its players.
const (
	Online     = "online"
	Offline    = "offline"
	MatchStart = "match_start"
	MatchEnd   = "match_end"
)

// Accounts.
const (
	Verified = "verified"
	Guest    = "guest"
)

// Item is a behaviour in a queue.
type Item struct {
	ID       string // its behaviour's
	Unique   bool   // its id is taken once within SeenForMS
	At       int64  // its behaviour's, epoch ms: how fresh it is
	QueuedAt int64  // cluster time at the door, epoch ms: how long it has waited
	Body     []byte // the behaviour as compact JSON, so without a line feed
}

// SeenForMS is how long the id of an item that is taken once is remembered. That
// of one that was dropped is not.
const DedupeWindowMS = 180_000

// Reason says why an item was dropped.
type Reason string

// The reasons of the wire contract.
const (
	QueueFull        Reason = "queue_full"
	TooOld           Reason = "too_old"
	Future           Reason = "future"
	Invalid          Reason = "invalid"
	Duplicate        Reason = "duplicate"
	Rejected         Reason = "rejected"          // by the far side, for good
	RetriesExhausted Reason = "retries_exhausted" // though it was fresh yet
	Unauthorized     Reason = "unauthorized"      // the far side does not know the game's keys, or gives it no right
	Expired          Reason = "expired"           // with its queue, which nobody took from
	NodeLost         Reason = "node_lost"         // with the node that was about to send it
	Shutdown         Reason = "shutdown"          // of a node that could not push it any more
)

// Reasons are all there are.
func Reasons() []Reason {
	return []Reason{QueueFull, TooOld, Future, Invalid, Duplicate, Rejected, RetriesExhausted, Unauthorized, Expired, NodeLost, Shutdown}
}

// Counts are what became of all items of a game, or of all games: Offered =
// Sent + Dropped + Queued + InFlight at any moment.
type Counts struct {
	Offered  int64            `json:"offered"`
	Sent     int64            `json:"sent"`
	Dropped  map[Reason]int64 `json:"dropped"` // those that are not 0
	Queued   int64            `json:"queued"`
	InFlight int64            `json:"in_flight"`
}

// Posted is what became of the behaviours of one post.
type PostResult struct {
	Accepted int            `json:"accepted"`
	Dropped  map[Reason]int `json:"dropped"` // those that are not 0
}
