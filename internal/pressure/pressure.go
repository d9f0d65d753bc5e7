// Package pressure says how hard-pressed a node is, and what it refuses for
// that, so that those who are in a match go on: who only reads is refused first,
// a player who comes back to a match never.
package pressure

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
)

// What is what a node refuses, or does, when it is hard-pressed.
type What string

// All there is, in the order in which it is refused.
const (
	Reading  What = "reading"  // of boards, players and matches, by whom has no token
	Watching What = "watching" // of boards and arenas
	Guests   What = "guests"   // new ones
	Entering What = "entering" // hellos of players who are in no match
	Joining  What = "joining"  // of duels and arenas, and the making of these
	Idling   What = "idling"   // sessions that do nothing are closed

	Full  What = "requests" // any of HTTP, while Config.Requests are under way
	Duels What = "duels"    // beyond those for which there is Room
)

// Levels is the highest level.
const Levels = 5

// from is the level from which on each is refused.
var from = map[What]int32{Reading: 1, Watching: 1, Guests: 2, Entering: 3, Joining: 4, Idling: 5, Full: math.MaxInt32, Duels: math.MaxInt32}

// Config is what a gauge is made of.
type Config struct {
	Signals  []Signal
	Requests int64      // of HTTP that may be under way at once, also a signal; 0: any number
	Trial    bool       // refusals are counted, and do not stand
	Relieve  func() int // closes some idle sessions and says how many; nil for none
	Registry prometheus.Registerer
}

// Gauge is the pressure on a node. But for Run it is safe for concurrent use.
type Gauge struct {
	Config
	level    atomic.Int32
	underWay atomic.Int64
	signals  []state
	told     *told
}

// New makes a gauge, which is calm until it runs.
func New(c Config) *Gauge {
	g := &Gauge{Config: c, told: newTold(c.Registry)}
	if c.Requests > 0 {
		c.Signals = append(c.Signals, Signal{
			Name: "requests", From: [Levels]float64{.5, .7, .8, .9, math.Inf(1)}, Steady: 2,
			Read: func() float64 { return float64(g.underWay.Load()) / float64(c.Requests) },
		})
	}
	for _, s := range c.Signals {
		g.signals = append(g.signals, state{Signal: s})
	}
	return g
}

// Level is how hard-pressed the node is: 0 for calm, up to Levels.
func (g *Gauge) Level() int { return int(g.level.Load()) }

// Presses says whether something is refused at this level.
func (g *Gauge) Presses(w What) bool { return g.level.Load() >= from[w] }

// Refuse refuses, from a level on, with a *protocol.Error of the code overloaded,
// which says when to try again: not everybody at once.
func (g *Gauge) Refuse(w What) error {
	if !g.Presses(w) {
		return nil
	}
	return g.refuse(w)
}

// Enter begins a request of HTTP, which ends with Leave, unless it is refused as
// Refuse does: too many are under way.
func (g *Gauge) Enter() error {
	if g.underWay.Add(1) <= g.Requests || g.Requests == 0 {
		return nil
	}
	err := g.refuse(Full)
	if err != nil {
		g.Leave()
	}
	return err
}

// Leave ends a request.
func (g *Gauge) Leave() { g.underWay.Add(-1) }

func (g *Gauge) refuse(w What) error { return g.refuseFor(w, spread()) }

func (g *Gauge) refuseFor(w What, ms int64) error {
	if g.Trial {
		g.told.would[w].Inc()
		return nil
	}
	g.told.shed[w].Inc()
	return protocol.RetryAfter(protocol.CodeOverloaded, ms, "this node has too much to do for this just now; try again in some seconds")
}

// spread is when to try again, in ms.
func spread() int64 { return 2000 + rand.Int64N(3000) } //nolint:gosec // a wait is no secret

// every is how often it is looked how things stand.
const every = time.Second

// Run looks once a second until ctx ends. It returns nil.
func (g *Gauge) Run(ctx context.Context) error { return looking(ctx, every, g.look) }

func looking(ctx context.Context, pause time.Duration, look func()) error {
	due := time.NewTicker(pause)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			look()
		}
	}
}

func (g *Gauge) look() {
	level := 0
	for i := range g.signals {
		s := &g.signals[i]
		s.look()
		level = max(level, s.level)
		g.told.signal(s.Signal, s.value)
	}
	g.level.Store(int32(level))
	g.told.level.Set(float64(level))
	if int32(level) < from[Idling] || g.Relieve == nil {
		return
	}
	if g.Trial {
		g.told.would[Idling].Inc()
		return
	}
	g.told.shed[Idling].Add(float64(g.Relieve()))
}
