package taskqueue

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	count    int           // how many polls wait
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

// add registers a poll that will wait. If a limit is reached, it registers
// nothing and returns the limit; otherwise the limit is "", and the caller must
// call unregister.
func (p *polls) add(game, kind string) (s waitingPoll, limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.perGame[game] >= maxWaitingPerGame:
		return waitingPoll{}, limitGame
	case p.waiting >= maxWaitingPolls:
		return waitingPoll{}, limitNode
	}
	e := p.byKind[kind]
	if e == nil {
		e = &kindPolls{notified: make(chan struct{}, 1)}
		e.timer = time.AfterFunc(jittered(p.interval), func() { p.pollAgain(e) })
		p.byKind[kind] = e
		p.notifier.add(kind, e.notified)
	}
	e.count++
	p.perGame[game]++
	p.waiting++
	p.gauge.Set(float64(p.waiting))
	return waitingPoll{e, game, kind}, ""
}

func (p *polls) remove(s waitingPoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	p.gauge.Set(float64(p.waiting))
	if p.perGame[s.game]--; p.perGame[s.game] == 0 {
		delete(p.perGame, s.game)
	}
	if s.count--; s.count == 0 {
		s.timer.Stop()
		delete(p.byKind, s.kind)
		p.notifier.remove(s.kind, s.notified)
	}
}

// pollAgain wakes a poll of the kind to claim without a notification, and
// restarts the timer.
func (p *polls) pollAgain(e *kindPolls) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.count > 0 {
		e.wakeNext()
		e.timer.Reset(jittered(p.interval))
	}
}

// wakeNext wakes one waiting poll, if there is one.
func (e *kindPolls) wakeNext() {
	select {
	case e.notified <- struct{}{}:
	default: // a poll will claim anyway
	}
}
