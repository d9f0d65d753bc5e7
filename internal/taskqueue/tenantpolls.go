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

func newPolls(notifier *Notifier, gauge prometheus.Gauge) *polls {
	return &polls{notifier: notifier, gauge: gauge, perGame: map[string]int{}, byKind: map[string]*kindPolls{}}
}

// register registers a poll of a stored kind that will wait for notified, until unregister.
// If a limit is reached, it registers nothing and returns the limit, which is "" otherwise.
func (p *polls) register(game, kind string) (notified chan struct{}, unregister func(), limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.perGame[game] >= maxWaitingPerGame:
		return nil, nil, limitGame
	case p.waiting >= maxWaitingPolls:
		return nil, nil, limitNode
	}
	group := p.byKind[kind]
	if group == nil {
		group = &kindPolls{notified: make(chan struct{}, 1)}
		p.byKind[kind] = group
		p.notifier.addSubscriber(kind, group.notified)
	}
	p.add(game, group, 1)
	return group.notified, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.add(game, group, -1); p.perGame[game] == 0 {
			delete(p.perGame, game)
		}
		if group.waiting == 0 {
			delete(p.byKind, kind)
			p.notifier.removeSubscriber(kind, group.notified)
		}
	}, ""
}

// add adds n to the numbers of waiting polls. The caller holds mu.
func (p *polls) add(game string, group *kindPolls, n int) {
	group.waiting += n
	p.perGame[game] += n
	p.waiting += n
	p.gauge.Set(float64(p.waiting))
}
