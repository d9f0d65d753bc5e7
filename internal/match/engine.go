package match

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// Config configures an Engine. Every field of the first group except Registry
// is required.
type Config struct {
	Store    Store
	Index    Index
	Wheel    *timer.Wheel
	Presence *Presence
	Now      func() int64 // cluster time, epoch ms
	OnResult func(*Result)
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// Node is the name of this node, unique in the cluster. Bus sends messages
	// to the other nodes. Both may be empty if there is only one node.
	Node string
	Bus  Bus
	// OnArenaEnd is called with the arena and the game when this node ends the
	// arena's match. It may be nil.
	OnArenaEnd func(*Arena, string)
	// OnSettled is called when the result of a match of players at this node is in
	// the ledger and on the leaderboards. It may be nil. After an error the engine
	// calls it again.
	OnSettled func(context.Context, Settlement) error
	// OnLifecycle is called when a match starts or ends for players at this
	// node. The engine calls it outside the steps of the match. It must not
	// block and may be nil.
	OnLifecycle func(LifecycleEvent)

	// MaxUnsettled limits how many results may wait for the ledger before the
	// engine refuses new matches. 0 means 100,000.
	MaxUnsettled int64
}

// Engine runs the matches that have players at this node, and overdue matches
// that no live node advances. It is safe for concurrent use.
type Engine struct {
	Config
	metrics      *metrics
	instanceID   string        // unique among all engines
	attemptCount atomic.Uint64 // how many attempt ids this engine has created

	mu              sync.Mutex
	localMatches    map[string]*localMatch
	matchesByPlayer map[playerKey][]*localMatch // the matches that push to each player's session at this node

	unreadable     unreadableMatches
	replayBytes    atomic.Int64 // size of all replay copies
	overloaded     atomic.Bool
	storeReachedAt atomic.Int64 // cluster time of the last successful round trip to the store
}

// ErrOverloaded reports that too many results wait for the ledger.
var ErrOverloaded = errors.New("match: too many results wait for the ledger")

// callTimeout limits the store calls of one timer or one sweep.
const callTimeout = 2 * time.Second

// New makes an engine. Matches are recovered only while Run runs.
func New(config Config) *Engine {
	if config.MaxUnsettled == 0 {
		config.MaxUnsettled = 100_000
	}
	if config.Bus == nil {
		config.Bus = noBus{}
	}
	if config.OnArenaEnd == nil {
		config.OnArenaEnd = func(*Arena, string) {}
	}
	if config.OnSettled == nil {
		config.OnSettled = func(context.Context, Settlement) error { return nil }
	}
	if config.OnLifecycle == nil {
		config.OnLifecycle = func(LifecycleEvent) {}
	}
	e := &Engine{
		Config:          config,
		metrics:         newMetrics(config.Registry),
		instanceID:      newID(),
		localMatches:    make(map[string]*localMatch),
		matchesByPlayer: make(map[playerKey][]*localMatch),
	}
	e.storeReachedAt.Store(config.Now())
	return e
}

// CheckOverload returns ErrOverloaded if too many results wait for the ledger
// to accept new matches.
func (e *Engine) CheckOverload() error {
	if e.overloaded.Load() {
		return ErrOverloaded
	}
	return nil
}

// StartDuel creates a duel unless it exists, and attaches the sessions that its
// players have at this node. It returns ErrNotFound if Tombstone was called for
// this match id before.
func (e *Engine) StartDuel(ctx context.Context, plan *Plan) error {
	seats := int64(len(plan.Seats))
	initial := State{
		Phase: PhaseCountdown, Question: -1, LastDecided: -1, StartsAt: plan.StartsAt, DueAt: plan.StartsAt, Players: seats, Alive: seats,
	}
	foundPush := newPush(plan, protocol.TypeMatchFound, matchFoundView(plan, View{State: initial}))
	created, err := e.createMatch(ctx, plan, initial, &foundPush)
	if err != nil {
		return err
	}
	if !created {
		if exists, err := e.Store.Tombstone(ctx, plan.ID); err != nil || !exists {
			return cmp.Or(err, ErrNotFound)
		}
	}
	var errs error
	for _, seat := range plan.Seats {
		errs = errors.Join(errs, e.AttachSession(ctx, plan.Game, plan.ID, seat.Player))
	}
	return errs
}

func (e *Engine) createMatch(ctx context.Context, plan *Plan, initial State, foundPush *protocol.NumberedPush) (created bool, err error) {
	if created, err = e.Store.Create(ctx, plan, initial, foundPush); created {
		e.metrics.starts.WithLabelValues(string(plan.Mode)).Inc()
	}
	return created, err
}

// Tombstone prevents a match from ever being created. It reports whether the
// match already exists; then it changes nothing.
func (e *Engine) Tombstone(ctx context.Context, match string) (exists bool, err error) {
	return e.Store.Tombstone(ctx, match)
}

// AttachSession attaches a player's session at this node to a match, if there
// is one and it accepts the match. It returns ErrNotFound if the match does not
// exist yet.
func (e *Engine) AttachSession(ctx context.Context, game, match, player string) error {
	session, ok := e.Presence.Find(game, player)
	if !ok || !session.CanAttach(match) {
		return nil
	}
	return e.Attach(ctx, AttachRequest{Match: match, Player: player, Session: session})
}

// CheckSeat returns ErrNotFound unless the player has a seat in the match.
func (e *Engine) CheckSeat(ctx context.Context, match, player string) error {
	local, err := e.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	member, err := e.member(ctx, local, player)
	if err == nil && member.Role != PlayerRole {
		return ErrNotFound
	}
	return err
}

// Status returns the last push number of a match, its arena if it has one, and
// whether it is still running. A match that is unknown, expired or abandoned is
// not running.
func (e *Engine) Status(ctx context.Context, match string) (r Status, err error) {
	local, err := e.loadMatch(ctx, match)
	if errors.Is(err, ErrNotFound) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	view, err := e.Store.Read(ctx, ReadQuery{Match: match, AfterSeq: -1, SeenVersion: local.knownVersion()})
	err = e.handleLoss(ctx, local, err)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return Status{}, nil
	}
	r = Status{Seq: view.Seq, Running: err == nil && !view.Phase.hasEnded()}
	if local.plan.Arena != nil {
		r.ArenaID = local.plan.Arena.ID
	}
	return r, err
}

// Status is the progress of a match. Seq is the number of its last push. ArenaID
// is "" for a duel.
type Status struct {
	Seq     int64
	ArenaID string
	Running bool
}

// IsUnsettled reports whether a match is over and its result is not committed
// yet. It works even after the match itself has expired.
func (e *Engine) IsUnsettled(ctx context.Context, match string) (bool, error) {
	return e.Index.IsPending(ctx, match)
}

// query returns the read that the rules need. It requests the records and ranks
// of the given players and the pushes after a number (-1: none).
func (l *localMatch) query(after int64, players ...string) ReadQuery {
	query := ReadQuery{Match: l.plan.ID, Players: players, AfterSeq: after, SeenVersion: l.knownVersion(), WantListed: true, WantRanks: true}
	if l.plan.Arena == nil {
		query.Players, query.WantListed, query.WantRanks = l.plan.duelPlayers(), false, false
	}
	return query
}

// read reads the part of a match that query describes.
func (e *Engine) read(ctx context.Context, local *localMatch, after int64, players ...string) (View, error) {
	view, err := e.Store.Read(ctx, local.query(after, players...))
	local.updateVersion(view.Version)
	return view, err
}

func newID() string { return ulid.Make().String() }

// attemptID returns an id that is unique among all nodes.
func (e *Engine) attemptID() string {
	return e.instanceID + "." + strconv.FormatUint(e.attemptCount.Add(1), 36)
}
