package webhook

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/taskqueue"
)

const (
	slotsPerEndpoint = 8           // concurrent attempts per node and endpoint
	maxSlotWait      = time.Second // a task waits at most this long for a slot

	minDefaultPause = 30 * time.Second // first pause if the endpoint names no duration; each later pause is twice as long
	maxDefaultPause = 15 * time.Minute
	minPostpone     = time.Second
	maxPostpone     = 15 * time.Minute // after the end of a pause; a task that must wait longer is postponed again

	initialAverageDuration = 100 * time.Millisecond // averageDuration before the first attempt
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
	slots chan struct{} // one element for each attempt in progress

	waiting atomic.Int64 // tasks that wait for a slot

	mu              sync.Mutex
	averageDuration time.Duration // moving average of the attempts' durations
	lastChange      time.Time     // when a slot was last acquired or released
	pausedUntil     time.Time     // no attempts before this time
	nextPause       time.Duration // length of the next pause for which the endpoint names no duration
	postponedUntil  time.Time     // the time to which the last task was postponed
}

func newThrottle() *throttle {
	return &throttle{slots: make(chan struct{}, slotsPerEndpoint), averageDuration: initialAverageDuration, nextPause: minDefaultPause}
}

// acquire takes a slot for an attempt; release returns it. If no slot is available, it
// returns the error that postpones the task.
func (t *throttle) acquire(ctx context.Context) error {
	defer t.waiting.Add(-1)
	if !t.isWorthWaiting(t.waiting.Add(1)) {
		return t.postpone(errBusy)
	}
	waiting, cancel := context.WithTimeout(ctx, maxSlotWait)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
	case <-waiting.Done():
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return t.postpone(errBusy)
	}
	if !t.isStartAllowed() {
		<-t.slots
		return t.postpone(errPaused)
	}
	return nil
}

// isWorthWaiting returns true if a slot is likely to be free within maxSlotWait, for the
// last of some tasks that wait.
func (t *throttle) isWorthWaiting(waiting int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.slots) < cap(t.slots) || t.expectedDuration()*time.Duration(waiting)/slotsPerEndpoint <= maxSlotWait
}

// isStartAllowed returns true if the caller, who has taken a slot, may start an attempt
// now: the endpoint is not paused. It also sets lastChange.
func (t *throttle) isStartAllowed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastChange = time.Now()
	return !t.lastChange.Before(t.pausedUntil)
}

// expectedDuration returns how long an attempt probably takes: the average, or more if
// the attempts under way already take longer. The caller holds mu.
func (t *throttle) expectedDuration() time.Duration {
	if len(t.slots) < cap(t.slots) {
		return t.averageDuration
	}
	return max(t.averageDuration, time.Since(t.lastChange))
}

// release returns the slot of an attempt that started at startedAt. It pauses the endpoint
// if the reply asks for that. An accepted message makes the next pause short again.
func (t *throttle) release(startedAt time.Time, reply Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastChange = time.Now()
	t.averageDuration += (t.lastChange.Sub(startedAt) - t.averageDuration) / 8
	<-t.slots
	switch {
	case reply.Err == nil:
		t.nextPause = minDefaultPause
	case reply.isThrottled():
		t.pause(reply.RetryAfter)
	}
}

// pause stops attempts for the time that the endpoint asks for. If wait is 0, it stops
// them for nextPause. During a pause it ignores further calls with wait 0, because they
// have the same cause. The caller holds mu.
func (t *throttle) pause(wait time.Duration) {
	now := time.Now()
	if wait == 0 && now.Before(t.pausedUntil) {
		return
	}
	if wait == 0 {
		wait, t.nextPause = t.nextPause, min(2*t.nextPause, maxDefaultPause)
	}
	t.pausedUntil = later(t.pausedUntil, now.Add(wait))
}

// postpone returns an error that postpones a task. Tasks are postponed to different
// times, one after the other, so that they do not return at the same time.
func (t *throttle) postpone(cause error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	nextAttemptAt := later(now, t.pausedUntil)
	t.postponedUntil = later(t.postponedUntil, nextAttemptAt).Add(t.expectedDuration() / slotsPerEndpoint)
	if limit := nextAttemptAt.Add(maxPostpone); t.postponedUntil.After(limit) {
		t.postponedUntil = limit
	}
	return taskqueue.Postpone(cause, max(minPostpone, t.postponedUntil.Sub(now)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
