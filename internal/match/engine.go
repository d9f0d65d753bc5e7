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
	Over     func(*Result)
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// Node names this node among all; Bus tells the others what it has done.
	// A node that is alone needs neither.
	Node string
	Bus  Bus
	// Ended is told of the end of an arena; nil for nobody.
	Ended func(*Arena, string)
	// Settled tells players here that the result of a match of theirs is in the
	// ledger and on the boards; nil for nobody. After an error it is called
	// again.
	Settled func(context.Context, Settlement) error
	// Turned is told, off the way of the match, when one begins and when it is
	// over for players here; nil for nobody. It does not block.
	Turned func(Turn)

	// MaxUnsettled is how many results may wait for the ledger before new
	// matches are refused; 0 means 100,000.
	MaxUnsettled int64
}

// Engine plays the matches that have players at this node, and those that no
// living node advances. It is safe for concurrent use.
type Engine struct {
	Config
	metrics  *metrics
	born     string        // among all engines
	attempts atomic.Uint64 // made so far

	mu       sync.Mutex
	lives    map[string]*live
	attached map[playerKey][]*live // the matches that a session at this node is fed from

	unreadable  unreadable
	replayBytes atomic.Int64 // of the copies of logs
	overloaded  atomic.Bool
	reached     atomic.Int64 // when the store was last found in reach, cluster time
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
		c.Bus = alone{}
	}
	if c.Ended == nil {
		c.Ended = func(*Arena, string) {}
	}
	if c.Settled == nil {
		c.Settled = func(context.Context, Settlement) error { return nil }
	}
	if c.Turned == nil {
		c.Turned = func(Turn) {}
	}
	e := &Engine{
		Config:   c,
		metrics:  newMetrics(c.Registry),
		born:     newID(),
		lives:    make(map[string]*live),
		attached: make(map[playerKey][]*live),
	}
	e.reached.Store(c.Now())
	return e
}

// Accepting says whether new matches are taken: ErrOverloaded where too many
// results wait for the ledger.
func (e *Engine) Accepting() error {
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
		Phase: Countdown, Question: -1, Last: -1, StartsAt: p.StartsAt, DueAt: p.StartsAt, Players: seats, Alive: seats,
	}
	found := push(p, protocol.TypeMatchFound, foundView(p, View{State: first}))
	created, err := e.create(ctx, p, first, &found)
	if err != nil {
		return err
	}
	if !created {
		if exists, err := e.Store.Void(ctx, p.ID); err != nil || !exists {
			return cmp.Or(err, ErrNotFound)
		}
	}
	var faults error
	for _, s := range p.Seats {
		faults = errors.Join(faults, e.Found(ctx, p.Game, p.ID, s.Player))
	}
	return faults
}

func (e *Engine) create(ctx context.Context, p *Plan, first State, found *protocol.Numbered) (created bool, err error) {
	if created, err = e.Store.Create(ctx, p, first, found); created {
		e.metrics.started.WithLabelValues(string(p.Mode)).Inc()
	}
	return created, err
}

// Void makes sure that a match is never created, unless it has been; it says
// whether it has.
func (e *Engine) Void(ctx context.Context, match string) (exists bool, err error) {
	return e.Store.Void(ctx, match)
}

// Found leads a player's session at this node, if there is one that expects it,
// into a match; ErrNotFound where there is no such match yet.
func (e *Engine) Found(ctx context.Context, game, match, player string) error {
	sub, ok := e.Presence.Find(game, player)
	if !ok || !sub.Expects(match) {
		return nil
	}
	return e.Attach(ctx, Attachment{Match: match, Player: player, Sub: sub})
}

// Sits says whether a player has a seat in a match: ErrNotFound where not.
func (e *Engine) Sits(ctx context.Context, match, player string) error {
	l, err := e.live(ctx, match)
	if err != nil {
		return err
	}
	m, err := e.member(ctx, l, player)
	if err == nil && m.Role != AsPlayer {
		return ErrNotFound
	}
	return err
}

// Running says where a match stands: its last number, its arena if it is one's,
// and whether it is not over yet. A match that is not there, or not any more,
// or that the store has set back, is not running.
func (e *Engine) Running(ctx context.Context, match string) (r Running, err error) {
	l, err := e.live(ctx, match)
	if errors.Is(err, ErrNotFound) {
		return Running{}, nil
	}
	if err != nil {
		return Running{}, err
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: match, After: -1, Seen: l.seen()})
	err = e.lost(ctx, l, err)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return Running{}, nil
	}
	r = Running{Seq: v.Seq, Running: err == nil && !v.Phase.ended()}
	if l.plan.Arena != nil {
		r.ArenaID = l.plan.Arena.ID
	}
	return r, err
}

// Running is where a match stands that a player is in.
type Running struct {
	Seq     int64
	ArenaID string
	Running bool
}

// Unsettled says whether a match is over and its result not yet committed,
// also when the match itself is not kept any more.
func (e *Engine) Unsettled(ctx context.Context, match string) (bool, error) {
	return e.Index.Pending(ctx, match)
}

// query is what has to be read of a match for its rules, and for the players given.
func (l *live) query(after int64, players ...string) ReadQuery {
	q := ReadQuery{Match: l.plan.ID, Players: players, After: after, Seen: l.seen(), Shown: true, Ranks: true}
	if l.plan.Arena == nil {
		q.Players, q.Shown, q.Ranks = l.plan.players(), false, false
	}
	return q
}

// read reads all of a match that its rules need, and of the players given.
func (e *Engine) read(ctx context.Context, l *live, after int64, players ...string) (View, error) {
	return e.readBy(ctx, l, l.query(after, players...))
}

func (e *Engine) readBy(ctx context.Context, l *live, q ReadQuery) (View, error) {
	v, err := e.Store.Read(ctx, q)
	l.see(v.Version)
	return v, err
}

func newID() string { return ulid.Make().String() }

// attemptID is an id that no other attempt has, of whatever node.
func (e *Engine) attemptID() string { return e.born + "." + strconv.FormatUint(e.attempts.Add(1), 36) }
