package eventq

import "encoding/json"

// Behaviour is something that a player did, as it was posted (see section 5 of
// the wire contract).
type Behaviour struct {
	ID      string          `json:"id"`   // of the behaviour
	Type    string          `json:"type"` // one of the Type constants, or a word that the game chose
	At      int64           `json:"at"`   // of the behaviour, epoch ms: how fresh it is
	Player  string          `json:"player,omitempty"`
	Device  string          `json:"device,omitempty"`
	Session string          `json:"session,omitempty"` // pairs an online with its offline
	Account string          `json:"account"`           // Verified or Guest
	PI      string          `json:"pi,omitempty"`      // the id of a verified player at the NPPA
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
	ID       string // of the behaviour, valid by identity.ValidID
	Unique   bool   // the queue accepts its id once within DedupeWindowMS
	At       int64  // of the behaviour, epoch ms: how fresh it is
	QueuedAt int64  // cluster time of its arrival, epoch ms: how long it has waited
	Body     []byte // the behaviour as compact JSON, without a line feed
}

// DedupeWindowMS is how long the queue remembers the id of a unique item. It
// forgets the ids of dropped items, except those lost with a node or an expired queue.
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
	Rejected         Reason = "rejected"          // by the receiver, for good
	RetriesExhausted Reason = "retries_exhausted" // after the last attempt, though still fresh
	Unauthorized     Reason = "unauthorized"      // the receiver does not know the game's keys, or the game lacks the right
	Expired          Reason = "expired"           // with its queue, which no node emptied
	NodeLost         Reason = "node_lost"         // with the node that had taken it
	Shutdown         Reason = "shutdown"          // with a node that stopped before it could push the item
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{QueueFull, TooOld, Future, Invalid, Duplicate, Rejected, RetriesExhausted, Unauthorized, Expired, NodeLost, Shutdown}
}

// Counts say what became of the items of one game, or of several. At any
// moment Offered = Sent + Dropped + Queued + InFlight.
type Counts struct {
	Offered  int64            `json:"offered"`
	Sent     int64            `json:"sent"`
	Dropped  map[Reason]int64 `json:"dropped"` // those that are not 0
	Queued   int64            `json:"queued"`
	InFlight int64            `json:"in_flight"`
}

// Add adds the counts of another queue.
func (c *Counts) Add(other Counts) {
	c.Offered += other.Offered
	c.Sent += other.Sent
	c.Queued += other.Queued
	c.InFlight += other.InFlight
	for reason, n := range other.Dropped {
		if c.Dropped == nil {
			c.Dropped = map[Reason]int64{}
		}
		c.Dropped[reason] += n
	}
}

// PostResult says what became of the behaviours of one post.
type PostResult struct {
	Accepted int              `json:"accepted"`
	Dropped  map[Reason]int64 `json:"dropped"` // those that are not 0
}
