package eventq

import (
	"slices"
	"sync"
	"time"
)

// A partition is what the service keeps of the games of one.
type partition struct {
	index int
	games []*game
	began time.Time // from which on it is pushed at regular times

	wake   chan struct{} // some game has something to push
	full   chan struct{} // some game has enough to push it now
	nudge  chan struct{} // the tending loop should look now
	filled chan *game    // it need not look, these have a full batch
	seen   int           // due games at the last poll; the tending loop's

	mu      sync.Mutex
	listed  []*game  // those with something to push, each once
	waiting []*batch // those that did not end with their first try, until they do
}

func newPartition(index int) *partition {
	return &partition{
		index: index, began: time.Now(),
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
		nudge: make(chan struct{}, 1), filled: make(chan *game, 16),
	}
}

// list notes that a game has something to push.
func (p *partition) list(g *game) {
	p.mu.Lock()
	p.listed = append(p.listed, g)
	p.mu.Unlock()
	signal(p.wake)
}

// takeRipe gives the games that have waited long enough with what they have to
// push. The others stay, to be looked at again.
func (p *partition) takeRipe(now time.Time) (ripe []*game) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = slices.DeleteFunc(p.listed, func(g *game) bool {
		if !g.ripe(now) {
			return false
		}
		ripe = append(ripe, g)
		return true
	})
	if len(p.listed) > 0 {
		signal(p.wake)
	}
	return ripe
}

// takeListed gives the games that have something to push, and begins a new list.
func (p *partition) takeListed() []*game {
	p.mu.Lock()
	defer p.mu.Unlock()
	games := p.listed
	p.listed = nil
	return games
}

func (p *partition) addWaiting(b *batch) {
	p.mu.Lock()
	p.waiting = append(p.waiting, b)
	p.mu.Unlock()
	signal(p.nudge)
}

func (p *partition) removeWaiting(b *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(other *batch) bool { return other == b })
}

func (p *partition) copyWaiting() []*batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.waiting)
}
