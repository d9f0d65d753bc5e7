package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

const (
	concurrencyPerEndpoint = 8           // tries of a node that an endpoint gets at a time
	maxSlotWait            = time.Second // a task waits for a try to end, if it is likely to be its turn by then

	minPause    = 30 * time.Second // of an endpoint that does not say how long; doubled from time to time
	maxPause    = 15 * time.Minute
	minPostpone = time.Second
	maxPostpone = 15 * time.Minute // beyond the rest: what is put off further comes and looks in between

	initialDuration = 100 * time.Millisecond // a guess
)

var (
	errBusy   = errors.New("as many tries are under way as the endpoint gets at a time")
	errPaused = errors.New("the endpoint wants to be left alone")
)

// pace keeps a node from asking too much of an endpoint, and an endpoint from
// holding all workers of the node: who cannot be served soon is put off until
// those put off before it are likely to be through.
type throttle struct {
	slots chan struct{} // one for each try under way

	mu              sync.Mutex
	waiting         int           // tasks that wait for a hand
	averageDuration time.Duration // a moving average of tries
	lastChange      time.Time     // a hand was taken or given back for the last time
	pausedUntil     time.Time     // until then it is left alone
	nextPause       time.Duration // the next one that it does not ask for
	postponedUntil  time.Time     // up to here there are tasks put off
}

func newThrottle() *throttle {
	return &throttle{slots: make(chan struct{}, concurrencyPerEndpoint), averageDuration: initialDuration, nextPause: minPause}
}

// enter takes a hand for a try, which leave gives back. Its error is for the
// queue.
func (p *throttle) acquire(ctx context.Context) error {
	if !p.startWaiting() {
		return p.postpone(errBusy)
	}
	defer p.stopWaiting()
	timer := time.NewTimer(maxSlotWait)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
	case <-timer.C:
		return p.postpone(errBusy)
	case <-ctx.Done():
		return ctx.Err()
	}
	if !p.recordStart() {
		<-p.slots
		return p.postpone(errPaused)
	}
	return nil
}

// join says whether a hand is likely to be free soon; if so, quit follows.
func (p *throttle) startWaiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.slots) == cap(p.slots) && p.expectedDuration()*time.Duration(p.waiting+1)/concurrencyPerEndpoint > maxSlotWait {
		return false
	}
	p.waiting++
	return true
}

func (p *throttle) stopWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
}

// begin says whether a try may be made with a hand that was taken.
func (p *throttle) recordStart() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastChange = time.Now()
	return !p.lastChange.Before(p.pausedUntil)
}

// takes is how long a try takes: as usual, or longer if those under way do.
func (p *throttle) expectedDuration() time.Duration {
	if len(p.slots) < cap(p.slots) {
		return p.averageDuration
	}
	return max(p.averageDuration, time.Since(p.lastChange))
}

// leave gives back the hand of a try that began at an instant.
func (p *throttle) release(startedAt time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.averageDuration += (time.Since(startedAt) - p.averageDuration) / 8
	p.lastChange = time.Now()
	<-p.slots
}

// pleased ends the doubling of rests: the endpoint accepted a message.
func (p *throttle) resetPause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nextPause = minPause
}

// leaveAlone has the endpoint rest for as long as it asks for, 0 if it does not say.
// Of tries that end while it rests, those that do not say are of the same cause.
func (p *throttle) pause(wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if wait == 0 && now.Before(p.pausedUntil) {
		return
	}
	if wait == 0 {
		wait, p.nextPause = p.nextPause, min(2*p.nextPause, maxPause)
	}
	p.pausedUntil = latest(p.pausedUntil, now.Add(wait))
}

// aside puts a task off.
func (p *throttle) postpone(cause error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	free := latest(now, p.pausedUntil)
	p.postponedUntil = latest(p.postponedUntil, free).Add(p.expectedDuration() / concurrencyPerEndpoint)
	if latest := free.Add(maxPostpone); p.postponedUntil.After(latest) {
		p.postponedUntil = latest
	}
	return taskqueue.Postpone(cause, max(minPostpone, p.postponedUntil.Sub(now)))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
