package match

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// Config is what an engine is made of; all fields but Registry are needed.
type Config struct {
	Store    Store
	Index    Index
	Wheel    *timer.Wheel
	Presence *Presence
	Now      func() int64 // cluster time, epoch ms
	Over     func(*Result)
	Logger   *slog.Logger
	Registry prometheus.Registerer

	// MaxUnsettled is how many results may wait for the ledger before new
	// matches are refused; 0 means 100,000.
	MaxUnsettled int64
}

// Engine plays the matches that have players at this node, and those that no
// living node advances. It is safe for concurrent use.
type Engine struct {
	Config
	metrics *metrics

	mu    sync.Mutex
	lives map[string]*live
	seats map[playerKey]*live // the newest match of each player at this node

	overloaded atomic.Bool
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
	return &Engine{
		Config:  c,
		metrics: newMetrics(c.Registry),
		lives:   make(map[string]*live),
		seats:   make(map[playerKey]*live),
	}
}

// Accepting says whether new matches are taken: ErrOverloaded where too many
// results wait for the ledger.
func (e *Engine) Accepting() error {
	if e.overloaded.Load() {
		return ErrOverloaded
	}
	return nil
}

// Start creates a match, unless it has been created before, and attaches
// those of its players that have a session here.
func (e *Engine) Start(ctx context.Context, p *Plan) error {
	created, err := e.Store.Create(ctx, p, push(p, protocol.TypeMatchFound, foundView(p)))
	if err != nil {
		return err
	}
	if created {
		e.metrics.started.WithLabelValues(string(p.Mode)).Inc()
	}
	for _, s := range p.Seats {
		if sub, ok := e.Presence.Find(p.Game, s.Player); ok {
			if err := e.Attach(ctx, Attachment{Match: p.ID, Player: s.Player, Sub: sub}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Attachment asks for a session to be attached to a match: First is called
// with the match as it stands, then come all frames after the number, then
// live ones, in order and without a gap. First must not block; where it is nil
// a session that is attached already is left as it is, and one that is not the
// player's any more is not attached.
type Attachment struct {
	Match  string
	Player string
	Sub    Subscriber
	After  int64
	First  func(protocol.MatchState)
}

// Attach attaches a session to a match that its player has a seat in:
// ErrNotFound where there is none, or no seat in it.
func (e *Engine) Attach(ctx context.Context, a Attachment) error {
	l, err := e.sits(ctx, a.Match, a.Player)
	if err != nil {
		return err
	}
	if err := e.attach(ctx, l, a); err != nil {
		return err
	}
	e.seat(l, a.Player)
	e.arm(l)
	return nil
}

func (e *Engine) attach(ctx context.Context, l *live, a Attachment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.First == nil && (l.subs[a.Player] == a.Sub || !e.present(l, a)) {
		return nil // it has them already, or a newer session has taken over
	}
	v, err := e.read(ctx, l, min(a.After, l.state.Seq))
	if err != nil {
		return err
	}
	l.catchUp(v)
	if a.First != nil {
		a.Sub.Forget(l.plan.ID)
		a.First(stateView(l.plan, v, a.Player))
	}
	l.attach(a, v)
	return nil
}

// present says whether the session to be attached is still the player's.
func (e *Engine) present(l *live, a Attachment) bool {
	sub, ok := e.Presence.Find(l.plan.Game, a.Player)
	return ok && sub == a.Sub
}

// Found leads a player's session at this node into a match that another node
// has created; ErrNotFound where there is no such match yet.
func (e *Engine) Found(ctx context.Context, game, match, player string) error {
	sub, ok := e.Presence.Find(game, player)
	if !ok {
		return nil
	}
	return e.Attach(ctx, Attachment{Match: match, Player: player, Sub: sub})
}

// Sits says whether a player has a seat in a match: ErrNotFound where not.
func (e *Engine) Sits(ctx context.Context, match, player string) error {
	_, err := e.sits(ctx, match, player)
	return err
}

// sits finds the match that a player has a seat in.
func (e *Engine) sits(ctx context.Context, match, player string) (*live, error) {
	l, err := e.live(ctx, match)
	if err != nil {
		return nil, err
	}
	if _, ok := l.plan.Seat(player); !ok {
		return nil, ErrNotFound
	}
	return l, nil
}

// Seated says whether a player at this node is in a match that is not over.
func (e *Engine) Seated(game, player string) bool {
	e.mu.Lock()
	l := e.seats[playerKey{game, player}]
	e.mu.Unlock()
	if l == nil {
		return false
	}
	return !l.known().Phase.ended()
}

// Detach removes a player's session from the match that it is attached to.
func (e *Engine) Detach(game, player string, sub Subscriber) {
	e.mu.Lock()
	l := e.seats[playerKey{game, player}]
	e.mu.Unlock()
	if l != nil {
		l.detach(player, sub)
	}
}

// Running says where a match stands: its last number, and whether it is not
// over yet. A match that is not there, or not any more, is not running.
func (e *Engine) Running(ctx context.Context, match string) (seq int64, running bool, err error) {
	v, err := e.Store.Read(ctx, ReadQuery{Match: match, After: -1})
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	return v.Seq, !v.Phase.ended(), err
}

// Unsettled says whether a match is over and its result not yet committed,
// also when the match itself is not kept any more.
func (e *Engine) Unsettled(ctx context.Context, match string) (bool, error) {
	return e.Index.Pending(ctx, match)
}

// live finds a match of this node, or loads it.
func (e *Engine) live(ctx context.Context, match string) (*live, error) {
	e.mu.Lock()
	l := e.lives[match]
	e.mu.Unlock()
	if l != nil {
		return l, nil
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: match, Plan: true, After: -1})
	if err != nil {
		return nil, err
	}
	l = e.hold(newLive(v))
	e.arm(l)
	return l, nil
}

// hold keeps a match that was loaded, unless another has been faster.
func (e *Engine) hold(l *live) *live {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.lives[l.plan.ID]; first != nil {
		return first
	}
	e.lives[l.plan.ID] = l
	e.metrics.lives.Inc()
	return l
}

// drop lets go of a match that is over.
func (e *Engine) drop(l *live) {
	l.mu.Lock()
	l.rearm(nil)
	l.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lives[l.plan.ID] != l {
		return
	}
	delete(e.lives, l.plan.ID)
	e.metrics.lives.Dec()
	for _, s := range l.plan.Seats {
		if key := (playerKey{l.plan.Game, s.Player}); e.seats[key] == l {
			delete(e.seats, key)
		}
	}
}

// seat remembers a player's newest match here. One that is over, and only
// looked at again, replaces no other.
func (e *Engine) seat(l *live, player string) {
	over := l.known().Phase.ended()
	e.mu.Lock()
	defer e.mu.Unlock()
	key := playerKey{l.plan.Game, player}
	if e.seats[key] == nil || !over {
		e.seats[key] = l
	}
}

// read reads all of a match that its rules and its players need.
func (e *Engine) read(ctx context.Context, l *live, after int64) (View, error) {
	return e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, Players: l.plan.players(), After: after})
}

func newID() string { return ulid.Make().String() }
