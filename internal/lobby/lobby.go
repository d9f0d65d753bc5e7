package lobby

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/quiz"
	"laststand/internal/timer"
)

// The stores below are shared by all nodes. Every write is atomic and idempotent. now
// is cluster time, epoch ms.

// TicketStore stores the tickets that wait.
type TicketStore interface {
	// AddTicket adds a ticket and lists FirstSlice. If its player has another
	// activity than former, it does nothing and returns that activity.
	AddTicket(ctx context.Context, t Ticket, former Activity, now int64) (Listing, error)
	// ListNearest lists a slice, if t still waits. The call extends the life of t,
	// also in a pairing. If t has expired and its player has no other activity, it
	// adds t again.
	ListNearest(ctx context.Context, t Ticket, s Slice, now int64) (Listing, error)
	// RemoveTicket removes a player's ticket and returns its id, or "" if the
	// player has none.
	RemoveTicket(ctx context.Context, game, player string) (string, error)
	// ReadTicket reads a waiting ticket. It returns false if there is none with
	// that id.
	ReadTicket(ctx context.Context, game, id string) (Ticket, bool, error)
}

// PairingStore stores the pairings whose matches may not exist yet.
type PairingStore interface {
	// Pair moves the tickets of a pairing from waiting to the pairing, and returns
	// true. If one of them does not wait any more, it does nothing and returns
	// false.
	Pair(ctx context.Context, p Pairing) (bool, error)
	// CompletePairing removes a pairing whose match has been created.
	CompletePairing(ctx context.Context, p Pairing) error
	// RollBackPairing removes a pairing whose match will never be created. Its
	// tickets wait again, except expired ones: their players become free. It
	// reports whether the pairing existed.
	RollBackPairing(ctx context.Context, p Pairing, now int64) (bool, error)
	// ListPairings lists the pairings of a game whose matches may not exist yet.
	ListPairings(ctx context.Context, game string) ([]Pairing, error)
}

// ActivityStore stores what each player is in.
type ActivityStore interface {
	// ReadActivity returns a player's activity, the zero value for none.
	ReadActivity(ctx context.Context, game, player string) (Activity, error)
	// Occupy records that a player is in a match that needs no ticket. If the
	// player has another activity than the former match, it does nothing and
	// returns that activity.
	Occupy(ctx context.Context, o OccupyRequest, now int64) (with Activity, err error)
	// Free records that players are no longer in a match each.
	Free(ctx context.Context, game string, players []PlayerMatch) error
}

// PlayerMatch is a player and the id of a match.
type PlayerMatch struct{ Player, Match string }

// Activity is the ticket or the match that a player is in. Both are "" if the
// player is in neither.
type Activity struct {
	Ticket, Match string // ids; at most one is set
	Forming       bool   // the match is paired, but not created yet
	Duel          string // the player's last duel until it is settled, also if the player is in another match since; "" for none
}

// lastMatches returns the ids of the current match and of the last duel.
func (a Activity) lastMatches() []string {
	all := slices.Compact([]string{a.Match, a.Duel})
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

// OccupyRequest asks ActivityStore.Occupy to record that a player is in a match. Former is
// a match that the player may be in before, "" for none.
type OccupyRequest struct{ Game, Player, Match, Former string }

// Matches runs the matches that the lobby forms.
type Matches interface {
	// StartDuel creates a match unless it exists. It returns match.ErrNotFound if
	// it will never exist.
	StartDuel(ctx context.Context, p *match.Plan) error
	// Tombstone prevents that a match is ever created. If the match exists
	// already, it does nothing and returns true.
	Tombstone(ctx context.Context, match string) (exists bool, err error)
	CheckOverload() error
	AttachSession(ctx context.Context, game, match, player string) error
}

// StatusReader reads how far matches are.
type StatusReader interface {
	Status(ctx context.Context, id string) (match.Status, error)
	// CheckSeat returns match.ErrNotFound unless the player has a seat.
	CheckSeat(ctx context.Context, match, player string) error
	IsUnsettled(ctx context.Context, match string) (bool, error)
}

// Bank draws questions. Count returns how many questions match a filter. Draw
// returns random ones; it uses seen questions only if there are not enough others.
type Bank interface {
	Count(source quiz.Source, filter quiz.Filter) int
	Draw(source quiz.Source, filter quiz.Filter, count int, seen func(id string) bool) ([]quiz.DrawnQuestion, error)
}

// SeenStore remembers which questions players saw recently.
type SeenStore interface {
	SeenQuestions(ctx context.Context, game string, players []string) (seen func(id string) bool, err error)
	AddSeen(ctx context.Context, game string, players, questions []string) error
}

// Players returns the seat of a player: nickname and committed rating.
type Players interface {
	Seat(ctx context.Context, game, player string) (match.Seat, error)
}

// DuelCounter returns how many duels of two players counted today. Duels that are not
// settled yet may be missing.
type DuelCounter interface {
	PairDuels(ctx context.Context, game, one, other string) (int64, error)
}

// DuelSettings contains the settings of a game's duels.
type DuelSettings struct {
	Questions                      int
	LimitMS, CountdownMS, RevealMS int64
	BotAfterMS                     int64 // 0: no bot
	Rated                          bool
	PairLimitPerDay                int64 // how many duels of the same two players count per day; 0: all
	CountSameAddress               bool  // true: duels between players with the same address count
}

// Config configures a Lobby. Registry may be nil. DuelCounter may be nil if no game
// has a PairLimitPerDay. AddressKey is required unless all games have
// CountSameAddress; it must be the same on all nodes. All other fields are
// required.
type Config struct {
	Games       map[string]DuelSettings
	Tickets     TicketStore
	Pairings    PairingStore
	Activities  ActivityStore
	Matches     Matches
	Statuses    StatusReader
	Bank        Bank
	SeenStore   SeenStore
	Players     Players
	DuelCounter DuelCounter
	Wheel       *timer.Wheel
	Now         func() int64 // cluster time, epoch ms
	Logger      *slog.Logger
	Registry    prometheus.Registerer

	AddressKey []byte // key of the address hashes in tickets
}

// Lobby pairs the tickets of this node with the tickets of all nodes. It is safe for
// concurrent use.
type Lobby struct {
	*activities
	*localTickets
	metrics *metrics
}

const (
	tryInterval = 500 * time.Millisecond // between two tries to pair a ticket
	callTimeout = 2 * time.Second
)

// New returns a lobby. The lobby handles pairings of dead nodes only while Run
// runs.
func New(c Config) *Lobby {
	local := newLocalTickets(c.Wheel)
	return &Lobby{&activities{Config: c}, local, newMetrics(c.Registry, local)}
}

func newID() string { return ulid.Make().String() }
