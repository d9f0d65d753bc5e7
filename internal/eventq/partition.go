package eventq

import (
	"slices"
	"sync"
	"time"
)

// A partition is what the service keeps of the games of one.
type partition struct {
	index     int
	games     []*game
	startedAt time.Time // from which on it is pushed at regular times

	hasItems      chan struct{} // some game has something to push
	hasFullBuffer chan struct{} // some game has enough to push it now
	pollNow       chan struct{} // the tending loop should look now
	fullGames     chan *game    // it need not look, these have a full batch
	lastDue       int           // due games at the last poll; the tending loop's

	mu      sync.Mutex
	listed  []*game  // those with something to push, each once
	waiting []*batch // those that did not end with their first try, until they do
}

func newPartition(index int) *partition {
	return &partition{
		index: index, startedAt: time.Now(),
		hasItems: make(chan struct{}, 1), hasFullBuffer: make(chan struct{}, 1),
		pollNow: make(chan struct{}, 1), fullGames: make(chan *game, 16),
	}
}

// list notes that a game has something to push.
func (p *partition) add(g *game) {
	p.mu.Lock()
	p.listed = append(p.listed, g)
	p.mu.Unlock()
	signal(p.hasItems)
}

// takeRipe gives the games that have waited long enough with what they have to
// push. The others stay, to be looked at again.
func (p *partition) removeDue(now time.Time) (due []*game) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = slices.DeleteFunc(p.listed, func(g *game) bool {
		if !g.isFlushDue(now) {
			return false
		}
		due = append(due, g)
		return true
	})
	if len(p.listed) > 0 {
		signal(p.hasItems)
	}
	return due
}

// takeListed gives the games that have something to push, and begins a new list.
func (p *partition) removeListed() []*game {
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
	signal(p.pollNow)
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
