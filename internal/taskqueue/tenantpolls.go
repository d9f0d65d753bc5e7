package taskqueue

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	maxWaitingPolls   = 1000 // polls that wait at a node
	maxWaitingPerGame = 250  // of one game
)

// polls are those that wait. The ones of a kind share an ear, as a ring is for
// one of them: it looks, and passes the ring on if it has found something, or could
// not look.
type polls struct {
	notifier *Notifier
	interval time.Duration
	gauge    prometheus.Gauge

	mu      sync.Mutex
	waiting int
	perGame map[string]int        // by game, those that have any
	byKind  map[string]*kindPolls // by stored kind, likewise
}

// ear is that of a kind. Its polls' lock guards seats and look.
type kindPolls struct {
	notified chan struct{}
	count    int
	timer    *time.Timer // rings every so often
}

// seat is the place of a poll that waits.
type waitingPoll struct {
	*kindPolls

	game, kind string
}

func newPolls(notifier *Notifier, interval time.Duration, gauge prometheus.Gauge) *polls {
	return &polls{notifier: notifier, interval: interval, gauge: gauge, perGame: map[string]int{}, byKind: map[string]*kindPolls{}}
}

// sit gives a poll a seat, to be left again, or says whose bound is reached.
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

// again is the slow poll of a kind.
func (p *polls) pollAgain(e *kindPolls) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.count > 0 {
		e.wakeNext()
		e.timer.Reset(jittered(p.interval))
	}
}

// pass rings for another one, if there is one.
func (e *kindPolls) wakeNext() {
	select {
	case e.notified <- struct{}{}:
	default: // somebody is about to look
	}
}
