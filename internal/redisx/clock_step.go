package redisx

import (
	"context"
	"time"
)

// maxStep is the largest step of the reference that cluster time follows without
// confirmation. A larger step needs a second clock that confirms it.
const maxStep = 5 * time.Second

// SetSecondClock sets the second clock. It must be called before Run. Without a second
// clock, cluster time follows no step above maxStep.
func (c *Clock) SetSecondClock(secondClock SecondClock) { c.secondClock = secondClock }

// removeUnconfirmedStep subtracts a step from a reading if no second clock confirms it.
// Cluster time then runs as fast as the reference, so that all nodes still agree. When the
// reference has stepped back, or the step is confirmed, cluster time follows it again.
// Example: the reference steps by a day and the database disagrees; readings are
// corrected by a day until the reference steps back.
func (c *Clock) removeUnconfirmedStep(ctx context.Context, r reading) reading {
	previous := c.estimate.Load()
	if previous == nil {
		return r
	}
	ignored, step := time.Duration(c.ignoredStep.Load()), time.Duration(r.offset()-previous.offset)
	switch {
	case step.Abs() <= maxStep:
		c.setIgnoredStep(ignored, 0)
	case c.isConfirmed(ctx, r):
		c.log.Warn("redis clock stepped; the database clock confirms the step and cluster time follows", "step", step)
		c.setIgnoredStep(ignored, 0)
	case (step - ignored).Abs() > maxStep:
		c.setIgnoredStep(ignored, step)
		r.refTime -= int64(step)
	default:
		r.refTime -= int64(ignored)
	}
	return r
}

// setIgnoredStep records and logs the step that cluster time does not follow; 0: none.
func (c *Clock) setIgnoredStep(previous, step time.Duration) {
	c.ignoredStep.Store(int64(step))
	switch {
	case step != 0:
		c.log.Error("redis clock stepped; no second clock confirms the step and cluster time does not follow", "step", step)
	case previous != 0:
		c.log.Info("cluster time follows the redis clock again")
	}
}

// isConfirmed asks the second clock whether it agrees with a reading.
func (c *Clock) isConfirmed(ctx context.Context, r reading) bool {
	if c.secondClock == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	now, err := c.secondClock(ctx)
	if err != nil {
		return false
	}
	difference := time.Duration(now)*time.Millisecond - time.Duration(c.localTime()+r.offset())
	return difference.Abs() <= maxStep
}
