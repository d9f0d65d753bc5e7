package redisx

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"laststand/internal/loop"
)

const (
	// maxRecordAge is the age up to which a record counts as written by a living node.
	maxRecordAge = 5 * time.Second
	// recordWait is how long a new node waits for a living node to replace an old
	// record. It is longer than the pause between two readings.
	recordWait = 1500 * time.Millisecond
	// futureRecordWait is recordWait for a record from the reference's future. The
	// reference has stepped back since a node wrote the record, less than recordTTL ago.
	// That node is probably alive, and its age cannot be told from the record.
	futureRecordWait = 4 * time.Second
	// maxRecordAhead is how far ahead of the reference a node may start from a record
	// if no other node is alive.
	maxRecordAhead = time.Minute
)

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
	clock := &Clock{start: time.Now(), reference: reference, maxAge: maxAge, log: cfg.Logger}
	if clock.log == nil {
		clock.log = slog.New(slog.DiscardHandler)
	}
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
		if !loop.Sleep(ctx, retryInterval) {
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

// record is the newest published cluster time and the time of the reference at that
// moment, both in ns since the epoch. The zero value means that there is no record.
type record struct{ clusterTime, refTime int64 }

// isFresh reports whether the record is so new at refTime, a time of the reference, that
// the node that wrote it is still alive.
func (r record) isFresh(refTime int64) bool {
	return r.refTime > 0 && refTime >= r.refTime && refTime-r.refTime <= int64(maxRecordAge)
}

// waitForUpdate returns how long a new node waits for a living node to replace the
// record; 0: the record is usable, or there is none.
func (r record) waitForUpdate(refTime int64) time.Duration {
	switch {
	case r.refTime == 0 || r.isFresh(refTime):
		return 0
	case r.refTime > refTime:
		return futureRecordWait
	}
	return recordWait
}

// clusterTimeAt returns the cluster time of the running nodes at refTime, a time of the
// reference.
func (r record) clusterTimeAt(refTime int64) int64 {
	elapsed := max(refTime-r.refTime, 0)
	if r.clusterTime > r.refTime { // cluster time is ahead, so it runs slower
		elapsed -= elapsed / slewDivisor
	}
	return r.clusterTime + elapsed
}
