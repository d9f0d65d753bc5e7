package eventq

import (
	"sync"
	"sync/atomic"

	"laststand/internal/timer"
)

// partition is what the service keeps about the games of one partition.
type partition struct {
	index    int
	games    []*game
	buffered atomic.Int64 // items of its games that are not pushed yet

	hasItems      chan struct{} // a game has something to push
	hasFullBuffer chan struct{} // a game has enough to push it now
	pollNow       chan struct{} // the loop should poll now
	lastDue       int           // due games at the last poll; owned by the loop

	mu     sync.Mutex
	listed []*game // games with something to push, each once
}

func newPartition(index int) *partition {
	return &partition{
		index:    index,
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

// removeListed returns all listed games and starts a new list.
func (p *partition) removeListed() []*game {
	p.mu.Lock()
	defer p.mu.Unlock()
	games := p.listed
	p.listed = nil
	return games
}
