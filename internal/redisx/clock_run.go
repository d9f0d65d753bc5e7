package redisx

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	readInterval    = time.Second            // plus or minus a quarter
	initialInterval = 50 * time.Millisecond  // interval while there are few readings to choose from
	retryInterval   = 200 * time.Millisecond // interval before the first reading
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
	timer := time.NewTimer(initialInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		err := c.readAndApply(ctx)
		c.logFailure(ctx, err)
		timer.Reset(c.nextDelay(err))
	}
}

// readAndApply reads the reference once and applies the reading.
func (c *Clock) readAndApply(ctx context.Context) error {
	latest, err := c.readReference(ctx)
	if err == nil {
		c.applyReading(c.removeUnconfirmedStep(ctx, latest))
		c.publishRecord(ctx, latest)
	}
	return err
}

// publishRecord publishes this node's cluster time at the moment of a reading. A node that
// has no cluster time yet publishes nothing. It returns the former record.
func (c *Clock) publishRecord(ctx context.Context, r reading) (previous record) {
	if c.recordStore == nil {
		return previous
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ownTime := int64(0)
	if known := c.estimate.Load(); known != nil {
		ownTime = known.clusterTimeAt(r.sent + (r.received-r.sent)/2)
	}
	previous, err := c.recordStore(ctx, ownTime, r.refTime)
	if err != nil { // the reading is valid without the record
		c.metrics.readFailures.Inc()
		c.log.DebugContext(ctx, "cluster time record failed", "error", err)
	}
	return previous
}

func (c *Clock) readReference(ctx context.Context) (latest reading, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	latest.sent = c.localTime()
	latest.refTime, err = c.reference(ctx)
	latest.received = c.localTime()
	return latest, err
}

// applyReading adds a reading and replaces the estimate, which Now and Ready use.
func (c *Clock) applyReading(latest reading) {
	updated := &estimate{best: c.readings.addAndChoose(latest), answeredAt: latest.received}
	updated.slew = slew{offset: updated.best.offset(), start: latest.received}
	if previous := c.estimate.Load(); previous != nil {
		updated.slew = previous.slewTo(updated.offset, latest.received)
		c.logStep(previous.best, latest)
	}
	c.estimate.Store(updated)
}

// logStep counts and logs a step of the reference, if there was one between two readings.
func (c *Clock) logStep(former, latest reading) {
	if !former.contradicts(latest) {
		return
	}
	jump := time.Duration(latest.offset() - former.offset())
	c.metrics.recordStep(jump)
	if jump.Abs() > maxUncertainty {
		c.log.Warn("reference clock stepped; check for a redis failover or a changed clock", "step", jump)
	}
}

// logFailure logs the first failure and the recovery.
func (c *Clock) logFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.metrics.readFailures.Inc()
	}
	switch wasSilent := c.isSilent; {
	case err != nil && !wasSilent:
		c.log.WarnContext(ctx, "redis clock read failed", "error", err)
	case err == nil && wasSilent:
		c.log.InfoContext(ctx, "redis clock reads recovered")
	}
	c.isSilent = err != nil
}

// nextDelay returns the time until the next reading. It is random, so that nodes that
// started at the same moment do not always read at the same moment.
func (c *Clock) nextDelay(err error) time.Duration {
	if err == nil && !c.readings.isFull() {
		return initialInterval
	}
	return readInterval*3/4 + rand.N(readInterval/2) //nolint:gosec // a wait is no secret
}
