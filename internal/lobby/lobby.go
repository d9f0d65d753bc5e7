package lobby

import (
	"context"
	"errors"
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
	Enter(ctx context.Context, t Ticket, former Busy, now int64) (waiting int64, with Busy, err error)
	// Near lists the tickets nearest by rating, and says whether the ticket
	// itself still waits, which keeps it alive. One that has expired, and that
	// its player has not replaced, waits again.
	Near(ctx context.Context, t Ticket, now int64) (candidates []Ticket, waits bool, err error)
	// Pair moves the tickets to the pairing if all of them still wait.
	Pair(ctx context.Context, p Pairing) (bool, error)
	// Done ends a pairing whose match has been created.
	Done(ctx context.Context, game, match string) error
	// Leave takes a player's ticket out, and says which it was, "" for none.
	Leave(ctx context.Context, game, player string) (string, error)
	// Where says what a player is busy with.
	Where(ctx context.Context, game, player string) (Busy, error)
	// Free ends a player's being busy with a match.
	Free(ctx context.Context, game, player, match string) error
	// Pairings lists the pairings of a game.
	Pairings(ctx context.Context, game string) ([]Pairing, error)
}

// Busy says what a player is in: one ticket or one match, or nothing. Forming
// says that the match is paired and not created yet.
type Busy struct {
	Ticket, Match string
	Forming       bool
}

// Matches plays what the lobby forms.
type Matches interface {
	Start(ctx context.Context, p *match.Plan) error
	Accepting() error
	Running(ctx context.Context, match string) (seq int64, running bool, err error)
	Unsettled(ctx context.Context, match string) (bool, error)
	Found(ctx context.Context, game, match, player string) error
}

// Bank draws questions. Draw avoids those seen as long as there are others.
type Bank interface {
	Count(game string, w Wish) int
	Draw(game string, w Wish, count int, seen map[string]struct{}) ([]quiz.Question, error)
}

// Memory remembers which questions players saw lately.
type Memory interface {
	Seen(ctx context.Context, game string, players []string) (map[string]struct{}, error)
	Saw(ctx context.Context, game string, players, questions []string) error
}

// Players gives the seat of a player: nickname and committed rating.
type Players interface {
	Seat(ctx context.Context, game, player string) (match.Seat, error)
}

// Duel is how a game plays its duels.
type Duel struct {
	Questions                      int
	LimitMS, CountdownMS, RevealMS int64
	BotAfterMS                     int64 // 0: no bot
	Rated                          bool
}

// Config is what a lobby is made of; all fields but Registry are needed.
type Config struct {
	Games    map[string]Duel
	Store    Store
	Matches  Matches
	Bank     Bank
	Memory   Memory
	Players  Players
	Wheel    *timer.Wheel
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Lobby pairs the tickets that came in at this node with those of all nodes.
// It is safe for concurrent use.
type Lobby struct {
	Config
	metrics *metrics

	mu      sync.Mutex
	tickets map[string]*timer.Timer // of this node, by ticket id: its next try
}

const (
	tryEvery    = 500 * time.Millisecond
	sweepEvery  = 2 * time.Second
	finishAfter = 3000 // ms until a pairing counts as left by a dead node
	callTimeout = 2 * time.Second
	settleWait  = 2 * time.Second // for a player's last result before a rated pairing
	settlePoll  = 20 * time.Millisecond
)

// New makes a lobby. Run has to be called for pairings of dead nodes to be
// finished.
func New(c Config) *Lobby {
	return &Lobby{Config: c, metrics: newMetrics(c.Registry), tickets: make(map[string]*timer.Timer)}
}

// Run finishes the pairings that a dead node has left, until ctx ends.
func (l *Lobby) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for game := range l.Games {
			if err := l.sweep(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				l.Logger.Warn("pairings could not be swept; the next round makes up for it", "game", game, "error", err)
			}
		}
	}
}

// sweep finishes what was paired a while ago and has no match yet.
func (l *Lobby) sweep(ctx context.Context, game string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pairings, err := l.Store.Pairings(ctx, game)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pairings {
		if l.Now()-p.At >= finishAfter {
			l.metrics.finished.Inc()
			errs = append(errs, l.start(ctx, p))
		}
	}
	return errors.Join(errs...)
}

// Playing says which running match a player is in, and its last number; ""
// where there is none.
func (l *Lobby) Playing(ctx context.Context, game, player string) (match string, seq int64, err error) {
	busy, err := l.Store.Where(ctx, game, player)
	if err != nil || busy.Match == "" {
		return "", 0, err
	}
	seq, running, err := l.Matches.Running(ctx, busy.Match)
	if err != nil || !running {
		return "", 0, err
	}
	return busy.Match, seq, nil
}

func refused(c protocol.Code, format string, args ...any) error {
	return protocol.Errorf(c, format, args...)
}

func newID() string { return ulid.Make().String() }
