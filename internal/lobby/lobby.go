package lobby

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/timer"
)

// Store keeps tickets and pairings. Every write is atomic over all nodes and
// idempotent.
type Store interface {
	// AddTicket adds a ticket, unless its player is in anything except former.
	// Then it returns that activity instead.
	AddTicket(ctx context.Context, t Ticket, former Activity, now int64) (waiting int64, with Activity, err error)
	// ListNearest lists a Slice of the tickets with the nearest ratings,
	// without t. First come those rated like t or higher, the oldest first
	// among equals. Then come those rated lower, the newest first among equals.
	//
	// It also reports whether t still waits. The call keeps t alive, also in a
	// pairing. An expired ticket that its player has not replaced waits again.
	ListNearest(ctx context.Context, t Ticket, s Slice, now int64) (candidates []Ticket, waits bool, err error)
	// Pair moves the tickets to the pairing if all of them still wait.
	Pair(ctx context.Context, p Pairing) (bool, error)
	// CompletePairing removes a pairing whose match has been created.
	CompletePairing(ctx context.Context, p Pairing) error
	// RollBackPairing removes a pairing whose match will never be created. Its
	// tickets wait again. The players of tickets that have expired become free.
	// It reports whether the pairing existed.
	RollBackPairing(ctx context.Context, p Pairing, now int64) (bool, error)
	// RemoveTicket removes a player's ticket and returns its id, or "".
	RemoveTicket(ctx context.Context, game, player string) (string, error)
	// ReadTicket reads a waiting ticket; false if it does not wait.
	ReadTicket(ctx context.Context, game, id string) (Ticket, bool, error)
	// ReadActivity returns what a player is in.
	ReadActivity(ctx context.Context, game, player string) (Activity, error)
	// Occupy records that a player is in a match that needs no ticket, unless
	// the player is in anything except the former match. Then it returns that
	// activity.
	Occupy(ctx context.Context, o OccupyRequest, now int64) (with Activity, err error)
	// Free records that a player is no longer in a match.
	Free(ctx context.Context, game, player, match string) error
	// ListPairings lists the pairings of a game.
	ListPairings(ctx context.Context, game string) ([]Pairing, error)
}

// Activity is what a player is in: one ticket, one match, or nothing. Forming
// means that the match is paired and not created yet. Duel is the player's last
// duel until it is settled, whatever the player has been in since.
type Activity struct {
	Ticket, Match string
	Forming       bool
	Duel          string
}

// OccupyRequest records that a player is in a match. Former is a match that the
// player may be in before, "" for none.
type OccupyRequest struct{ Game, Player, Match, Former string }

// Matches runs the matches that the lobby forms.
type Matches interface {
	// Start creates a match unless it exists. It returns match.ErrNotFound if
	// it will never exist.
	Start(ctx context.Context, p *match.Plan) error
	// Tombstone prevents a match from ever being created. It reports whether
	// the match already exists.
	Tombstone(ctx context.Context, match string) (exists bool, err error)
	CheckOverload() error
	Status(ctx context.Context, id string) (match.Status, error)
	// CheckSeat returns match.ErrNotFound unless the player has a seat.
	CheckSeat(ctx context.Context, match, player string) error
	IsUnsettled(ctx context.Context, match string) (bool, error)
	AttachSession(ctx context.Context, game, match, player string) error
}

// Bank draws questions. Draw avoids the seen ones as long as there are others.
type Bank interface {
	Count(game string, w Filter) int
	Draw(game string, w Filter, count int, seen map[string]struct{}) ([]quiz.Drawn, error)
}

// SeenStore remembers which questions players saw recently.
type SeenStore interface {
	SeenQuestions(ctx context.Context, game string, players []string) (map[string]struct{}, error)
	AddSeen(ctx context.Context, game string, players, questions []string) error
}

// Players returns the seat of a player: nickname and committed rating.
type Players interface {
	Seat(ctx context.Context, game, player string) (match.Seat, error)
}

// Pairs counts the duels of two players today that counted. It may not include
// duels that are not settled yet.
type Pairs interface {
	PairDuels(ctx context.Context, game, one, other string) (int64, error)
}

// Duel contains the settings of a game's duels.
type Duel struct {
	Questions                      int
	LimitMS, CountdownMS, RevealMS int64
	BotAfterMS                     int64 // 0: no bot
	Rated                          bool
	PairLimitPerDay                int64 // further duels of the same two players do not count; 0: no limit
	CountSameAddress               bool  // true: duels between players of one address count
}

// Config configures a Lobby. Registry may be nil. Pairs may be nil if no game
// has a limit. AddressKey is required unless all games count duels between
// players of one address; it must be the same on all nodes. Everything else is
// required.
type Config struct {
	Games     map[string]Duel
	Store     Store
	Matches   Matches
	Bank      Bank
	SeenStore SeenStore
	Players   Players
	Pairs     Pairs
	Wheel     *timer.Wheel
	Now       func() int64 // cluster time, epoch ms
	Logger    *slog.Logger
	Registry  prometheus.Registerer

	AddressKey []byte // key of the address hashes in tickets
}

// Lobby pairs the tickets of this node with those of all nodes. It knows what
// each player is in. It is safe for concurrent use.
type Lobby struct {
	Config
	metrics *metrics

	mu      sync.Mutex
	tickets map[string]localTicket // tickets of this node by id
	waiting map[playerKey]string   // ticket ids of this node by player
}

const (
	tryEvery    = 500 * time.Millisecond
	callTimeout = 2 * time.Second
	settleWait  = 2 * time.Second // wait for a player's last result before a rated pairing
	settlePoll  = 20 * time.Millisecond
)

// New makes a lobby. Pairings of dead nodes are handled only while Run runs.
func New(c Config) *Lobby {
	return &Lobby{Config: c, metrics: newMetrics(c.Registry), tickets: make(map[string]localTicket), waiting: make(map[playerKey]string)}
}

func newRefusal(c protocol.Code, format string, args ...any) error {
	return protocol.Errorf(c, format, args...)
}

func newID() string { return ulid.Make().String() }
