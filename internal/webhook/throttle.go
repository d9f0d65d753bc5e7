package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/taskqueue"
)

const (
	concurrencyPerEndpoint = 8           // concurrent attempts per node and endpoint
	maxSlotWait            = time.Second // a task waits at most so long for a slot

	minPause    = 30 * time.Second // first pause if the endpoint names no duration; each further one is twice as long
	maxPause    = 15 * time.Minute
	minPostpone = time.Second
	maxPostpone = 15 * time.Minute // after the end of a pause; a task that must wait longer is postponed again

	initialDuration = 100 * time.Millisecond // averageDuration before the first attempt
)

var (
	errBusy   = errors.New("too many attempts to the endpoint are under way")
	errPaused = errors.New("the endpoint has asked for a pause")
)

// throttle limits the concurrent attempts of a node to an endpoint, so that a slow
// endpoint cannot occupy all workers of the node. If a task cannot get a slot soon, it
// postpones the task to a time when the tasks postponed before it are probably done. It
// is safe for concurrent use.
type throttle struct {
	slots chan struct{} // one element for each attempt under way

	mu              sync.Mutex
	waiting         int           // tasks that wait for a slot
	averageDuration time.Duration // moving average of the attempts' durations
	lastChange      time.Time     // when a slot was last acquired or released
	pausedUntil     time.Time     // no attempts before this time
	nextPause       time.Duration // length of the next pause for which the endpoint names no duration
	postponedUntil  time.Time     // the time to which the last task was postponed
}

func newThrottle() *throttle {
	return &throttle{slots: make(chan struct{}, concurrencyPerEndpoint), averageDuration: initialDuration, nextPause: minPause}
}

// acquire takes a slot for an attempt; release returns it. If no slot is available, it
// returns the error that postpones the task.
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

// tryStartWaiting returns true if a slot is likely to be free within maxSlotWait. Then
// the caller may wait and must call stopWaiting afterwards.
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

// isStartAllowed returns true if the caller, who has taken a slot, may start an attempt
// now: the endpoint is not paused. It also sets lastChange.
func (p *throttle) recordStart() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastChange = time.Now()
	return !p.lastChange.Before(p.pausedUntil)
}

// expectedDuration returns how long an attempt probably takes: the average, or more if
// the attempts under way already take longer. The caller holds mu.
func (p *throttle) expectedDuration() time.Duration {
	if len(p.slots) < cap(p.slots) {
		return p.averageDuration
	}
	return max(p.averageDuration, time.Since(p.lastChange))
}

// release returns the slot of an attempt that started at startedAt.
func (p *throttle) release(startedAt time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.averageDuration += (time.Since(startedAt) - p.averageDuration) / 8
	p.lastChange = time.Now()
	<-p.slots
}

// resetPause makes the next pause short again, because the endpoint has accepted a
// message.
func (p *throttle) resetPause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nextPause = minPause
}

// pause stops attempts for the time that the endpoint asks for. If wait is 0, it stops
// them for nextPause. During a pause it ignores further calls with wait 0, because they
// have the same cause.
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

// postpone returns an error that postpones a task. Tasks are postponed to different
// times, one after the other, so that they do not return at the same time.
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
