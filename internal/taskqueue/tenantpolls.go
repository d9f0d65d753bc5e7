package taskqueue

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	maxWaitingPolls   = 1000 // polls that wait at a node
	maxWaitingPerGame = 250  // polls of one game that wait at a node
)

// polls are the waiting polls of a node. The polls of a kind share one channel,
// so that a notification wakes only one of them. That poll claims. If it found
// tasks or could not claim, it wakes the next one. A lost notification delays a task until
// the next poll of its kind.
type polls struct {
	notifier *Notifier
	gauge    prometheus.Gauge

	mu      sync.Mutex
	waiting int                   // waiting polls of all games
	perGame map[string]int        // number of waiting polls by game
	byKind  map[string]*kindPolls // by stored kind
}

// kindPolls are the waiting polls of a kind.
type kindPolls struct {
	notified chan struct{} // a value wakes one poll
	waiting  int           // how many polls wait; the mutex of polls guards it
}

// waitingPoll is one poll that waits.
type waitingPoll struct {
	*kindPolls

	game, kind string // kind as stored
}

func newPolls(notifier *Notifier, gauge prometheus.Gauge) *polls {
	return &polls{notifier: notifier, gauge: gauge, perGame: map[string]int{}, byKind: map[string]*kindPolls{}}
}

// register registers a poll that will wait. If a limit is reached, it registers
// nothing and returns the limit; otherwise the limit is "", and the caller must
// call unregister.
func (p *polls) register(game, kind string) (poll waitingPoll, limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.perGame[game] >= maxWaitingPerGame:
		return waitingPoll{}, limitGame
	case p.waiting >= maxWaitingPolls:
		return waitingPoll{}, limitNode
	}
	group := p.byKind[kind]
	if group == nil {
		group = &kindPolls{notified: make(chan struct{}, 1)}
		p.byKind[kind] = group
		p.notifier.addSubscriber(kind, group.notified)
	}
	group.waiting++
	p.perGame[game]++
	p.waiting++
	p.gauge.Set(float64(p.waiting))
	return waitingPoll{group, game, kind}, ""
}

func (p *polls) unregister(poll waitingPoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	p.gauge.Set(float64(p.waiting))
	if p.perGame[poll.game]--; p.perGame[poll.game] == 0 {
		delete(p.perGame, poll.game)
	}
	if poll.waiting--; poll.waiting == 0 {
		delete(p.byKind, poll.kind)
		p.notifier.removeSubscriber(poll.kind, poll.notified)
	}
}
