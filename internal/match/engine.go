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

// Config is what an engine is made of; all fields of the first group but
// Registry are needed.
type Config struct {
	Store    Store
	Index    Index
	Wheel    *timer.Wheel
	Presence *Presence
	Now      func() int64 // cluster time, epoch ms
	OnResult func(*Result)
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// Node names this node among all; Bus tells the others what it has done.
	// A node that is alone needs neither.
	Node string
	Bus  Bus
	// Ended is told of the end of an arena; nil for nobody.
	OnArenaEnd func(*Arena, string)
	// Settled tells players here that the result of a match of theirs is in the
	// ledger and on the boards; nil for nobody. After an error it is called
	// again.
	OnSettled func(context.Context, Settlement) error
	// Turned is told, off the way of the match, when one begins and when it is
	// over for players here; nil for nobody. It does not block.
	OnLifecycle func(LifecycleEvent)

	// MaxUnsettled is how many results may wait for the ledger before new
	// matches are refused; 0 means 100,000.
	MaxUnsettled int64
}

// Engine plays the matches that have players at this node, and those that no
// living node advances. It is safe for concurrent use.
type Engine struct {
	Config
	metrics    *metrics
	instanceID string        // among all engines
	attempts   atomic.Uint64 // made so far

	mu           sync.Mutex
	localMatches map[string]*localMatch
	attached     map[playerKey][]*localMatch // the matches that a session at this node is fed from

	unreadable     unreadableMatches
	replayBytes    atomic.Int64 // of the copies of logs
	overloaded     atomic.Bool
	storeReachedAt atomic.Int64 // when the store was last found in reach, cluster time
}

// ErrOverloaded says that too many results wait for the ledger.
var ErrOverloaded = errors.New("match: too many results wait for the ledger")

// callTimeout bounds what one timer or sweep may take with the store.
const callTimeout = 2 * time.Second

// New makes an engine. Run has to be called for it to recover matches.
func New(c Config) *Engine {
	if c.MaxUnsettled == 0 {
		c.MaxUnsettled = 100_000
	}
	if c.Bus == nil {
		c.Bus = noBus{}
	}
	if c.OnArenaEnd == nil {
		c.OnArenaEnd = func(*Arena, string) {}
	}
	if c.OnSettled == nil {
		c.OnSettled = func(context.Context, Settlement) error { return nil }
	}
	if c.OnLifecycle == nil {
		c.OnLifecycle = func(LifecycleEvent) {}
	}
	e := &Engine{
		Config:       c,
		metrics:      newMetrics(c.Registry),
		instanceID:   newID(),
		localMatches: make(map[string]*localMatch),
		attached:     make(map[playerKey][]*localMatch),
	}
	e.storeReachedAt.Store(c.Now())
	return e
}

// CheckOverload says whether new matches are taken: ErrOverloaded where too many
// results wait for the ledger.
func (e *Engine) CheckOverload() error {
	if e.overloaded.Load() {
		return ErrOverloaded
	}
	return nil
}

// Start creates a duel, unless it has been created before, and attaches those
// of its players that have a session here: ErrNotFound where it was made sure
// that it never is.
func (e *Engine) Start(ctx context.Context, p *Plan) error {
	seats := int64(len(p.Seats))
	first := State{
		Phase: Countdown, Question: -1, LastDecided: -1, StartsAt: p.StartsAt, DueAt: p.StartsAt, Players: seats, Alive: seats,
	}
	found := newPush(p, protocol.TypeMatchFound, foundView(p, View{State: first}))
	created, err := e.create(ctx, p, first, &found)
	if err != nil {
		return err
	}
	if !created {
		if exists, err := e.Store.Tombstone(ctx, p.ID); err != nil || !exists {
			return cmp.Or(err, ErrNotFound)
		}
	}
	var faults error
	for _, s := range p.Seats {
		faults = errors.Join(faults, e.AttachSession(ctx, p.Game, p.ID, s.Player))
	}
	return faults
}

func (e *Engine) create(ctx context.Context, p *Plan, first State, found *protocol.Numbered) (created bool, err error) {
	if created, err = e.Store.Create(ctx, p, first, found); created {
		e.metrics.started.WithLabelValues(string(p.Mode)).Inc()
	}
	return created, err
}

// Tombstone makes sure that a match is never created, unless it has been; it says
// whether it has.
func (e *Engine) Tombstone(ctx context.Context, match string) (exists bool, err error) {
	return e.Store.Tombstone(ctx, match)
}

// AttachSession leads a player's session at this node, if there is one that expects it,
// into a match; ErrNotFound where there is no such match yet.
func (e *Engine) AttachSession(ctx context.Context, game, match, player string) error {
	sub, ok := e.Presence.Find(game, player)
	if !ok || !sub.CanAttach(match) {
		return nil
	}
	return e.Attach(ctx, Attachment{Match: match, Player: player, Sub: sub})
}

// CheckSeat says whether a player has a seat in a match: ErrNotFound where not.
func (e *Engine) CheckSeat(ctx context.Context, match, player string) error {
	l, err := e.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	m, err := e.member(ctx, l, player)
	if err == nil && m.Role != AsPlayer {
		return ErrNotFound
	}
	return err
}

// Status says where a match stands: its last number, its arena if it is one's,
// and whether it is not over yet. A match that is not there, or not any more,
// or that the store has set back, is not running.
func (e *Engine) Status(ctx context.Context, match string) (r Status, err error) {
	l, err := e.loadMatch(ctx, match)
	if errors.Is(err, ErrNotFound) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: match, After: -1, SeenVersion: l.knownVersion()})
	err = e.handleLoss(ctx, l, err)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return Status{}, nil
	}
	r = Status{Seq: v.Seq, Running: err == nil && !v.Phase.hasEnded()}
	if l.plan.Arena != nil {
		r.ArenaID = l.plan.Arena.ID
	}
	return r, err
}

// Status is where a match stands that a player is in.
type Status struct {
	Seq     int64
	ArenaID string
	Running bool
}

// IsUnsettled says whether a match is over and its result not yet committed,
// also when the match itself is not kept any more.
func (e *Engine) IsUnsettled(ctx context.Context, match string) (bool, error) {
	return e.Index.IsPending(ctx, match)
}

// query is what has to be read of a match for its rules, and for the players given.
func (l *localMatch) query(after int64, players ...string) ReadQuery {
	q := ReadQuery{Match: l.plan.ID, Players: players, After: after, SeenVersion: l.knownVersion(), WantListed: true, WantRanks: true}
	if l.plan.Arena == nil {
		q.Players, q.WantListed, q.WantRanks = l.plan.players(), false, false
	}
	return q
}

// read reads all of a match that its rules need, and of the players given.
func (e *Engine) read(ctx context.Context, l *localMatch, after int64, players ...string) (View, error) {
	return e.readQuery(ctx, l, l.query(after, players...))
}

func (e *Engine) readQuery(ctx context.Context, l *localMatch, q ReadQuery) (View, error) {
	v, err := e.Store.Read(ctx, q)
	l.updateVersion(v.Version)
	return v, err
}

func newID() string { return ulid.Make().String() }

// attemptID is an id that no other attempt has, of whatever node.
func (e *Engine) attemptID() string {
	return e.instanceID + "." + strconv.FormatUint(e.attempts.Add(1), 36)
}
