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
	// Enter puts a ticket in, unless its player is busy with anything but
	// former; then it tells with what.
	AddTicket(ctx context.Context, t Ticket, former Activity, now int64) (waiting int64, with Activity, err error)
	// Near lists a Slice of the tickets nearest by rating, without t: those rated as
	// it or higher, of equals the oldest first, and those rated lower, of equals the
	// newest first. It says whether the ticket itself still waits; asking
	// keeps it alive, also in a pairing. One that has expired, and that its
	// player has not replaced, waits again.
	ListNearest(ctx context.Context, t Ticket, s Slice, now int64) (candidates []Ticket, waits bool, err error)
	// Pair moves the tickets to the pairing if all of them still wait.
	Pair(ctx context.Context, p Pairing) (bool, error)
	// Done ends a pairing whose match has been created.
	CompletePairing(ctx context.Context, p Pairing) error
	// Undo ends a pairing whose match will never be created: its tickets wait
	// again, and the players of those that have expired meanwhile are free. It
	// says whether the pairing was there.
	RollBackPairing(ctx context.Context, p Pairing, now int64) (bool, error)
	// Leave takes a player's ticket out, and says which it was, "" for none.
	RemoveTicket(ctx context.Context, game, player string) (string, error)
	// Ticket reads a ticket that waits; false where it does not.
	ReadTicket(ctx context.Context, game, id string) (Ticket, bool, error)
	// Where says what a player is busy with.
	ReadActivity(ctx context.Context, game, player string) (Activity, error)
	// Occupy makes a player busy with a match that takes no ticket, unless busy
	// with anything but the former; then it tells with what.
	Occupy(ctx context.Context, o OccupyRequest, now int64) (with Activity, err error)
	// Free ends a player's being busy with a match.
	Free(ctx context.Context, game, player, match string) error
	// Pairings lists the pairings of a game.
	ListPairings(ctx context.Context, game string) ([]Pairing, error)
}

// Activity says what a player is in: one ticket or one match, or nothing. Forming
// says that the match is paired and not created yet. Duel is the player's last
// duel until it is settled, whatever the player has been in since.
type Activity struct {
	Ticket, Match string
	Forming       bool
	Duel          string
}

// OccupyRequest says that a player is in a match. Former is a match that the
// player may be busy with all the same, "" for none.
type OccupyRequest struct{ Game, Player, Match, Former string }

// Matches plays what the lobby forms.
type Matches interface {
	// Start creates a match unless it has been created before;
	// match.ErrNotFound where it never will be.
	Start(ctx context.Context, p *match.Plan) error
	// Void makes sure that a match is never created, unless it has been; it
	// says whether it has.
	Tombstone(ctx context.Context, match string) (exists bool, err error)
	CheckOverload() error
	Status(ctx context.Context, id string) (match.Status, error)
	// Sits says whether a player has a seat; match.ErrNotFound where not.
	CheckSeat(ctx context.Context, match, player string) error
	IsUnsettled(ctx context.Context, match string) (bool, error)
	AttachSession(ctx context.Context, game, match, player string) error
}

// Bank draws questions. Draw avoids those seen as long as there are others.
type Bank interface {
	Count(game string, w Filter) int
	Draw(game string, w Filter, count int, seen map[string]struct{}) ([]quiz.Drawn, error)
}

// SeenStore remembers which questions players saw lately.
type SeenStore interface {
	SeenQuestions(ctx context.Context, game string, players []string) (map[string]struct{}, error)
	AddSeen(ctx context.Context, game string, players, questions []string) error
}

// Players gives the seat of a player: nickname and committed rating.
type Players interface {
	Seat(ctx context.Context, game, player string) (match.Seat, error)
}

// Pairs knows how often two players have met today in duels that counted. It
// may lag behind by what is not settled yet.
type Pairs interface {
	PairDuels(ctx context.Context, game, one, other string) (int64, error)
}

// Duel is how a game plays its duels.
type Duel struct {
	Questions                      int
	LimitMS, CountdownMS, RevealMS int64
	BotAfterMS                     int64 // 0: no bot
	Rated                          bool
	PairLimitPerDay                int64 // of one pair, beyond which duels do not count; 0: none
	CountSameAddress               bool  // duels between players of one address count
}

// Config is what a lobby is made of. Registry may be nil, and Pairs where no
// game has a limit. AddressKey is needed unless all games count duels between
// players of one address; all nodes have the same. All else is needed.
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

	AddressKey []byte // of the hashes of addresses in tickets
}

// Lobby pairs the tickets that came in at this node with those of all nodes,
// and knows what players are busy with. It is safe for concurrent use.
type Lobby struct {
	Config
	metrics *metrics

	mu      sync.Mutex
	tickets map[string]localTicket // of this node, by ticket id
	waiting map[playerKey]string   // the ids of these, by player
}

const (
	tryEvery    = 500 * time.Millisecond
	callTimeout = 2 * time.Second
	settleWait  = 2 * time.Second // for a player's last result before a rated pairing
	settlePoll  = 20 * time.Millisecond
)

// New makes a lobby. Run has to be called for pairings of dead nodes to be
// seen to.
func New(c Config) *Lobby {
	return &Lobby{Config: c, metrics: newMetrics(c.Registry), tickets: make(map[string]localTicket), waiting: make(map[playerKey]string)}
}

func newRefusal(c protocol.Code, format string, args ...any) error {
	return protocol.Errorf(c, format, args...)
}

func newID() string { return ulid.Make().String() }
