// Package pressure says how hard-pressed a node is, and what it refuses for
// that, so that those who are in a match go on: who only reads is refused first,
// a player who comes back to a match never.
package pressure

import (
	"context"
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
)

// Levels is the highest level.
const Levels = 5

// from is the level from which on each is refused.
var from = map[What]int32{Reading: 1, Watching: 1, Guests: 2, Entering: 3, Joining: 4, Idling: 5}

// Config is what a gauge is made of.
type Config struct {
	Signals  []Signal
	Trial    bool       // refusals are counted, and do not stand
	Relieve  func() int // closes some idle sessions and says how many; nil for none
	Registry prometheus.Registerer
}

// Gauge is the pressure on a node. But for Run it is safe for concurrent use.
type Gauge struct {
	Config
	level   atomic.Int32
	signals []state
	told    *told
}

// New makes a gauge, which is calm until it runs.
func New(c Config) *Gauge {
	g := &Gauge{Config: c, told: newTold(c.Registry)}
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
	if g.Trial {
		g.told.would[w].Inc()
		return nil
	}
	g.told.shed[w].Inc()
	return protocol.RetryAfter(protocol.CodeOverloaded, spread(), "this node has too much to do for this just now; try again in some seconds")
}

// spread is when to try again, in ms.
func spread() int64 { return 2000 + rand.Int64N(3000) }

// every is how often it is looked how things stand.
const every = time.Second

// Run looks once a second until ctx ends. It returns nil.
func (g *Gauge) Run(ctx context.Context) error {
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			g.look()
		}
	}
}

func (g *Gauge) look() {
	level := 0
	for i := range g.signals {
		s := &g.signals[i]
		s.look()
		level = max(level, s.level)
		g.told.signals.WithLabelValues(s.Name).Set(s.value)
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
