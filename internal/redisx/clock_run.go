package redisx

import (
	"context"
	"math/rand/v2"
	"time"

	"laststand/internal/timer"
)

const (
	readInterval    = time.Second            // plus or minus a quarter
	initialInterval = 50 * time.Millisecond  // interval until there are settledReadings
	retryInterval   = 200 * time.Millisecond // interval before the first reading

	// settledReadings is after how many readings that agree the clock reads less often.
	settledReadings = 8
)

// Run reads the reference about every second until ctx ends, and then returns nil. At
// first, and after a step of the reference, it reads more often. It logs failures and
// retries. The caller must call it only once. Without Run, or while the reference does not
// answer, Now continues with the process's own clock.
func (c *Clock) Run(ctx context.Context) error {
	if c.reference == nil {
		<-ctx.Done()
		return nil
	}
	delay := initialInterval
	read := timer.LogFailures(c.log, "redis clock read", func(ctx context.Context) error {
		err := c.readAndApply(ctx)
		delay = initialInterval
		if err != nil || c.agreeing >= settledReadings {
			// It is random, so that nodes that started together do not always read together.
			delay = readInterval*3/4 + rand.N(readInterval/2) //nolint:gosec // a wait is no secret
		}
		return err
	})
	for timer.Sleep(ctx, delay) {
		read(ctx)
	}
	return nil
}

// readAndApply reads the reference once and applies the reading. It counts a failure.
func (c *Clock) readAndApply(ctx context.Context) error {
	latest, _, err := c.readReference(ctx)
	if err == nil {
		c.applyReading(c.removeUnconfirmedStep(ctx, latest))
		if c.agreeing == 1 { // after a step; this publishes the new cluster time at once
			_, _, err = c.readReference(ctx)
		}
	}
	if err != nil && ctx.Err() == nil {
		c.metrics.readFailures.Inc()
	}
	return err
}

// readReference reads the reference and publishes this node's cluster time at the moment of
// the reading, as far as it knows that in advance. It returns the former record.
func (c *Clock) readReference(ctx context.Context) (latest reading, previous record, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	latest.sent = c.localTime()
	own := int64(0)
	if known := c.estimate.Load(); known != nil {
		own = known.clusterTimeAt(latest.sent + (known.best.received-known.best.sent)/2)
	}
	latest.refTime, previous, err = c.reference(ctx, own)
	latest.received = c.localTime()
	return latest, previous, err
}

// applyReading replaces the estimate, which Now and Ready use, after a reading.
func (c *Clock) applyReading(latest reading) {
	updated := &estimate{best: latest, slew: slew{offset: latest.offset(), start: latest.received}, answeredAt: latest.received}
	if previous := c.estimate.Load(); previous != nil {
		updated.best = previous.best.choose(latest)
		updated.slew = previous.slewTo(updated.best.offset(), latest.received)
		c.countStep(previous.best, latest)
	}
	c.agreeing++
	c.estimate.Store(updated)
}

// countStep counts and logs a step of the reference, if there was one between two readings.
func (c *Clock) countStep(former, latest reading) {
	if !former.contradicts(latest) {
		return
	}
	c.agreeing = 0
	step, direction := time.Duration(latest.offset()-former.offset()), "ahead"
	if step < 0 {
		direction = "behind"
	}
	c.metrics.steps.WithLabelValues(direction).Inc()
	if step.Abs() > maxUncertainty {
		c.log.Warn("reference clock stepped; check for a redis failover or a changed clock", "step", step)
	}
}

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
