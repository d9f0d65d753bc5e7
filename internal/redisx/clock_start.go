package redisx

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// NewClock reads the reference, so that Now is correct from the start. If no reading
// succeeds within 5 s, it fails, and the error says what to do. The context limits only
// NewClock. Run keeps the clock correct afterwards.
func NewClock(ctx context.Context, conn *Conn, cfg ClockConfig) (*Clock, error) {
	if conn.Kind == KindEmbedded {
		return newClock(ctx, nil, cfg)
	}
	cfg.recordStore = newMasterRecordStore(conn.Client)
	return newClock(ctx, newMasterReference(conn.Client), cfg)
}

func newClock(ctx context.Context, reference reference, cfg ClockConfig) (*Clock, error) {
	clock := &Clock{start: time.Now(), reference: reference, recordStore: cfg.recordStore, maxAge: maxAge, log: cfg.Logger}
	if clock.log == nil {
		clock.log = slog.New(slog.DiscardHandler)
	}
	if reference == nil {
		clock.estimate.Store(&estimate{slew: slew{offset: clock.start.UnixNano()}})
		return clock, nil
	}
	clock.metrics = newClockMetrics(cfg.Registry, func() (*estimate, int64) { return clock.estimate.Load(), clock.localTime() }, clock.ignoredStep.Load)
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
		latest, err := c.readReference(ctx)
		if err == nil && firstAt.IsZero() {
			firstAt = time.Now()
		}
		previous := record{}
		if err == nil {
			previous = c.publishRecord(ctx, latest)
		}
		isUsable := time.Since(firstAt) >= previous.waitForUpdate(latest.refTime)
		switch {
		case err == nil && isUsable:
			c.startFromRecord(latest, previous)
			c.applyReading(c.removeUnconfirmedStep(ctx, latest))
			return nil
		case err != nil && (cause == nil || ctx.Err() == nil):
			cause = err
		}
		select {
		case <-ctx.Done():
			return cause
		case <-time.After(retryInterval):
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
