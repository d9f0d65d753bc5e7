package taskqueue

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	mostWaiting = 1000 // polls that wait at a node
	mostOfGame  = 250  // of one game
)

// polls are those that wait. The ones of a kind share an ear, as a ring is for
// one of them: it looks, and passes the ring on if it has found something, or could
// not look.
type polls struct {
	bell  *Bell
	every time.Duration
	shown prometheus.Gauge

	mu      sync.Mutex
	waiting int
	of      map[string]int  // by game, those that have any
	ears    map[string]*ear // by stored kind, likewise
}

// ear is that of a kind. Its polls' lock guards seats and look.
type ear struct {
	rung  chan struct{}
	seats int
	look  *time.Timer // rings every so often
}

// seat is the place of a poll that waits.
type seat struct {
	*ear

	game, kind string
}

func newPolls(bell *Bell, every time.Duration, shown prometheus.Gauge) *polls {
	return &polls{bell: bell, every: every, shown: shown, of: map[string]int{}, ears: map[string]*ear{}}
}

// sit gives a poll a seat, to be left again, or says whose bound is reached.
func (p *polls) sit(game, kind string) (s seat, crowded string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.of[game] >= mostOfGame:
		return seat{}, crowdedGame
	case p.waiting >= mostWaiting:
		return seat{}, crowdedNode
	}
	e := p.ears[kind]
	if e == nil {
		e = &ear{rung: make(chan struct{}, 1)}
		e.look = time.AfterFunc(jittered(p.every), func() { p.again(e) })
		p.ears[kind] = e
		p.bell.hear(kind, e.rung)
	}
	e.seats++
	p.of[game]++
	p.waiting++
	p.shown.Set(float64(p.waiting))
	return seat{e, game, kind}, ""
}

func (p *polls) leave(s seat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	p.shown.Set(float64(p.waiting))
	if p.of[s.game]--; p.of[s.game] == 0 {
		delete(p.of, s.game)
	}
	if s.seats--; s.seats == 0 {
		s.look.Stop()
		delete(p.ears, s.kind)
		p.bell.forget(s.kind, s.rung)
	}
}

// again is the slow poll of a kind.
func (p *polls) again(e *ear) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.seats > 0 {
		e.pass()
		e.look.Reset(jittered(p.every))
	}
}

// pass rings for another one, if there is one.
func (e *ear) pass() {
	select {
	case e.rung <- struct{}{}:
	default: // somebody is about to look
	}
}
