package redisx

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"laststand/internal/timer"
)

// maxRecordAhead is how far ahead of the reference a node may start from a record if no
// other node is alive.
const maxRecordAhead = time.Minute

// NewClock reads the reference, so that Now is correct from the start. If no reading
// succeeds within 5 s, it fails, and the error says what to do. The context limits only
// NewClock. Run keeps the clock correct afterwards.
func NewClock(ctx context.Context, conn *Conn, cfg ClockConfig) (*Clock, error) {
	if conn.Kind == KindEmbedded {
		return newClock(ctx, nil, cfg)
	}
	return newClock(ctx, newMasterReference(conn.Client), cfg)
}

func newClock(ctx context.Context, reference reference, cfg ClockConfig) (*Clock, error) {
	clock := &Clock{start: time.Now(), reference: reference, maxAge: maxAge, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}
	if reference == nil {
		clock.estimate.Store(&estimate{slew: slew{offset: clock.start.UnixNano()}})
		return clock, nil
	}
	clock.metrics = newClockMetrics(cfg.Registry, clock)
	if err := clock.awaitFirstReading(ctx); err != nil {
		return nil, fmt.Errorf("cluster time: ask redis for its time: %w; %s", err, remedy(err, address{}))
	}
	return clock, nil
}

// awaitFirstReading reads the reference until a reading succeeds and can be used. It returns the
// last error after openTimeout. A reading cannot be used while the record is old and a living
// node may still replace it.
func (c *Clock) awaitFirstReading(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	var cause error
	var firstAt time.Time // time of the first reading
	for {
		latest, previous, err := c.readReference(ctx)
		if err == nil && firstAt.IsZero() {
			firstAt = time.Now()
		}
		switch {
		case err == nil && time.Since(firstAt) >= previous.waitForUpdate(latest.refTime):
			c.startFromRecord(latest, previous)
			c.applyReading(c.removeUnconfirmedStep(ctx, latest))
			_, _, _ = c.readReference(ctx) // publishes cluster time for the next node; after a failure, Run does
			return nil
		case err != nil && (cause == nil || ctx.Err() == nil):
			cause = err
		}
		if !timer.Sleep(ctx, retryInterval) {
			return cmp.Or(cause, ctx.Err())
		}
	}
}

// startFromRecord sets the first estimate to the cluster time of the other nodes, if that
// differs from the reference by more than maxUncertainty. Otherwise the cluster time of a
// new node could differ from theirs by seconds.
func (c *Clock) startFromRecord(r reading, previous record) {
	if previous.refTime == 0 {
		return
	}
	start := previous.clusterTimeAt(r.refTime)
	difference := time.Duration(start - r.refTime)
	if !previous.isFresh(r.refTime) && (difference < 0 || difference > maxRecordAhead) {
		return // the nodes that wrote it have ended
	}
	if difference.Abs() <= maxUncertainty {
		return
	}
	c.log.Warn("cluster time of other nodes differs from the redis clock; starting from cluster time", "difference", difference)
	started := reading{sent: r.sent, received: r.received, refTime: start}
	c.estimate.Store(&estimate{slew: slew{offset: started.offset(), start: r.received}, best: started, answeredAt: r.received})
}
