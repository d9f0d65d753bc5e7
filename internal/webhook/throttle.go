package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

const (
	concurrencyPerEndpoint = 8           // concurrent attempts of a node to an endpoint
	maxSlotWait            = time.Second // a task waits for a slot if it is likely to get one in this time

	minPause    = 30 * time.Second // for an endpoint that names no duration; doubles with each such pause
	maxPause    = 15 * time.Minute
	minPostpone = time.Second
	maxPostpone = 15 * time.Minute // beyond the pause: a task that must wait longer returns and checks in between

	initialDuration = 100 * time.Millisecond // a guess
)

var (
	errBusy   = errors.New("as many tries are under way as the endpoint gets at a time")
	errPaused = errors.New("the endpoint wants to be left alone")
)

// throttle limits the attempts of a node to an endpoint, so that the endpoint
// cannot hold all workers of the node. It postpones a task that cannot be served
// soon, until the tasks postponed before it are likely to be done.
type throttle struct {
	slots chan struct{} // one element for each current attempt

	mu              sync.Mutex
	waiting         int           // tasks that wait for a slot
	averageDuration time.Duration // moving average of attempts
	lastChange      time.Time     // when a slot was last acquired or released
	pausedUntil     time.Time     // no attempts before
	nextPause       time.Duration // the next pause for which the endpoint names no duration
	postponedUntil  time.Time     // time of the last postponed task
}

func newThrottle() *throttle {
	return &throttle{slots: make(chan struct{}, concurrencyPerEndpoint), averageDuration: initialDuration, nextPause: minPause}
}

// acquire takes a slot for an attempt; release gives it back. Its error is for the
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

// startWaiting reports whether a slot is likely to be free soon. If so, the caller
// must call stopWaiting.
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

// recordStart reports whether the caller may make an attempt with the slot that it
// took.
func (p *throttle) recordStart() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastChange = time.Now()
	return !p.lastChange.Before(p.pausedUntil)
}

// expectedDuration is how long an attempt takes: the average, or longer if the
// current attempts take longer.
func (p *throttle) expectedDuration() time.Duration {
	if len(p.slots) < cap(p.slots) {
		return p.averageDuration
	}
	return max(p.averageDuration, time.Since(p.lastChange))
}

// release gives back the slot of an attempt that began at startedAt.
func (p *throttle) release(startedAt time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.averageDuration += (time.Since(startedAt) - p.averageDuration) / 8
	p.lastChange = time.Now()
	<-p.slots
}

// resetPause ends the doubling of pauses: the endpoint accepted a message.
func (p *throttle) resetPause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nextPause = minPause
}

// pause stops attempts for as long as the endpoint asks, or for the next default
// pause if wait is 0. During a pause, it ignores further attempts with wait 0,
// because they have the same cause.
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

// postpone postpones a task.
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
