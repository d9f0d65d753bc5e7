package hooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

const (
	atOnce   = 8           // tries of a node that an endpoint gets at a time
	patience = time.Second // a task waits for a try to end, if it is likely to be its turn by then

	leastRest  = 30 * time.Second // of an endpoint that does not say how long; doubled from time to time
	mostRest   = 15 * time.Minute
	leastAside = time.Second
	mostAside  = 15 * time.Minute // beyond the rest: what is put off further comes and looks in between

	firstTook = 100 * time.Millisecond // a guess
)

var (
	errBusy    = errors.New("as many tries are under way as the endpoint gets at a time")
	errResting = errors.New("the endpoint wants to be left alone")
)

// pace keeps a node from asking too much of an endpoint, and an endpoint from
// holding all workers of the node: who cannot be served soon is put off until
// those put off before it are likely to be through.
type pace struct {
	hands chan struct{} // one for each try under way

	mu      sync.Mutex
	waiting int           // tasks that wait for a hand
	took    time.Duration // a moving average of tries
	moved   time.Time     // a hand was taken or given back for the last time
	rested  time.Time     // until then it is left alone
	rest    time.Duration // the next one that it does not ask for
	turn    time.Time     // up to here there are tasks put off
}

func newPace() *pace {
	return &pace{hands: make(chan struct{}, atOnce), took: firstTook, rest: leastRest}
}

// enter takes a hand for a try, which leave gives back. Its error is for the
// queue.
func (p *pace) enter(ctx context.Context) error {
	if !p.join() {
		return p.aside(errBusy)
	}
	defer p.quit()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case p.hands <- struct{}{}:
	case <-timer.C:
		return p.aside(errBusy)
	case <-ctx.Done():
		return ctx.Err()
	}
	if !p.begin() {
		<-p.hands
		return p.aside(errResting)
	}
	return nil
}

// join says whether a hand is likely to be free soon; if so, quit follows.
func (p *pace) join() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.hands) == cap(p.hands) && p.takes()*time.Duration(p.waiting+1)/atOnce > patience {
		return false
	}
	p.waiting++
	return true
}

func (p *pace) quit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
}

// begin says whether a try may be made with a hand that was taken.
func (p *pace) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = time.Now()
	return !p.moved.Before(p.rested)
}

// takes is how long a try takes: as usual, or longer if those under way do.
func (p *pace) takes() time.Duration {
	if len(p.hands) < cap(p.hands) {
		return p.took
	}
	return max(p.took, time.Since(p.moved))
}

// leave gives back the hand of a try that began at an instant.
func (p *pace) leave(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took += (time.Since(since) - p.took) / 8
	p.moved = time.Now()
	<-p.hands
}

// pleased ends the doubling of rests: the endpoint accepted a message.
func (p *pace) pleased() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = leastRest
}

// leaveAlone has the endpoint rest for as long as it asks for, 0 if it does not say.
// Of tries that end while it rests, those that do not say are of the same cause.
func (p *pace) leaveAlone(wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if wait == 0 && now.Before(p.rested) {
		return
	}
	if wait == 0 {
		wait, p.rest = p.rest, min(2*p.rest, mostRest)
	}
	p.rested = later(p.rested, now.Add(wait))
}

// aside puts a task off.
func (p *pace) aside(why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	free := later(now, p.rested)
	p.turn = later(p.turn, free).Add(p.takes() / atOnce)
	if most := free.Add(mostAside); p.turn.After(most) {
		p.turn = most
	}
	return taskqueue.Postpone(why, max(leastAside, p.turn.Sub(now)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
