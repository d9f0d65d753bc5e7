package eventq

import (
	"slices"
	"sync"
	"time"

	"laststand/internal/timer"
)

// partition is what the service keeps about the games of one partition.
type partition struct {
	index     int
	games     []*game
	startedAt time.Time // from this time on pushes happen at regular intervals

	hasItems      chan struct{} // a game has something to push
	hasFullBuffer chan struct{} // a game has enough to push it now
	pollNow       chan struct{} // the loop should poll now
	lastDue       int           // due games at the last poll; owned by the loop

	mu     sync.Mutex
	listed []*game // games with something to push, each once
}

func newPartition(index int) *partition {
	return &partition{
		index: index, startedAt: time.Now(),
		hasItems: make(chan struct{}, 1), hasFullBuffer: make(chan struct{}, 1),
		pollNow: make(chan struct{}, 1),
	}
}

// add lists a game that has something to push.
func (p *partition) add(g *game) {
	p.mu.Lock()
	p.listed = append(p.listed, g)
	p.mu.Unlock()
	timer.Wake(p.hasItems)
}

// removeDue returns the games whose push is due. The others stay listed.
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
		timer.Wake(p.hasItems)
	}
	return due
}

// removeListed returns all listed games and starts a new list.
func (p *partition) removeListed() []*game {
	p.mu.Lock()
	defer p.mu.Unlock()
	games := p.listed
	p.listed = nil
	return games
}
