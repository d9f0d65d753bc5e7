package taskqueue

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/loop"
)

const (
	maxWaitingPolls   = 1000 // polls that wait at a node
	maxWaitingPerGame = 250  // polls of one game that wait at a node
)

// polls are the waiting polls of a node. The polls of a kind share one channel,
// so that a notification wakes only one of them. That poll claims. If it found
// tasks or could not claim, it wakes the next one.
type polls struct {
	notifier *Notifier
	interval time.Duration
	gauge    prometheus.Gauge

	mu      sync.Mutex
	waiting int                   // waiting polls of all games
	perGame map[string]int        // number of waiting polls by game
	byKind  map[string]*kindPolls // by stored kind
}

// kindPolls are the waiting polls of a kind. The mutex of polls guards waiting
// and timer.
type kindPolls struct {
	notified chan struct{} // a value wakes one poll
	waiting  int           // how many polls wait
	timer    *time.Timer   // calls wakeOnTimer
}

// waitingPoll is one poll that waits.
type waitingPoll struct {
	*kindPolls

	game, kind string // kind as stored
}

func newPolls(notifier *Notifier, interval time.Duration, gauge prometheus.Gauge) *polls {
	return &polls{notifier: notifier, interval: interval, gauge: gauge, perGame: map[string]int{}, byKind: map[string]*kindPolls{}}
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
		group.timer = time.AfterFunc(withJitter(p.interval), func() { p.wakeOnTimer(group) })
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
		poll.timer.Stop()
		delete(p.byKind, poll.kind)
		p.notifier.removeSubscriber(poll.kind, poll.notified)
	}
}

// wakeOnTimer wakes a poll of the kind to claim without a notification, and
// restarts the timer.
func (p *polls) wakeOnTimer(group *kindPolls) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if group.waiting > 0 {
		group.wakeNext()
		group.timer.Reset(withJitter(p.interval))
	}
}

// wakeNext wakes one waiting poll, if there is one.
func (k *kindPolls) wakeNext() { loop.Wake(k.notified) }
