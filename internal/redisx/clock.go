package redisx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/timer"
)

// ErrClock means that cluster time is not reliable now. The errors of Clock.Ready wrap it.
var ErrClock = errors.New("cluster time is not certain")

const (
	maxUncertainty = 100 * time.Millisecond // of the offset, while Ready returns nil
	maxAge         = 30 * time.Second       // of the last answer of the reference, while Ready returns nil
)

// ClockConfig configures a Clock.
type ClockConfig struct {
	// Registry gets the metrics; nil: none. A registry can have one Clock only.
	Registry prometheus.Registerer
	// Logger logs when the reference stops or starts to answer, or steps; nil: no log.
	Logger *slog.Logger
}

// SecondClock returns the time of a second clock, the database's, in epoch ms. It is
// called only while the reference differs from cluster time by more than maxStep.
type SecondClock func(ctx context.Context) (int64, error)

// Clock provides cluster time, on which all nodes agree. Cluster time is the process's
// monotonic clock plus an offset. The offset is the difference to the clock of the
// reference: the Redis master that owns the key `clock`. The value of this key is the newest
// cluster time of any node, from which a new node starts. If the reference steps by more
// than 5 s, cluster time follows only if a second clock confirms the step.
//
// An embedded Redis has no other nodes. There, cluster time is the wall clock at the
// start plus the monotonic clock.
//
// Now and Ready are safe for concurrent use, also while Run runs.
type Clock struct {
	start        time.Time // origin of local time
	estimate     atomic.Pointer[estimate]
	lastReturned atomic.Int64 // the latest result of Now
	reference    reference    // nil: none
	secondClock  SecondClock  // nil: none
	ignoredStep  atomic.Int64 // step of the reference that cluster time does not follow, in ns; 0: none
	log          *slog.Logger
	metrics      *clockMetrics
	agreeing     int // readings since the last step of the reference; only NewClock, and then Run, use it
}

// Now returns cluster time in epoch ms. It never goes backwards, also across callers. If
// the reference is ahead, cluster time steps forward. If the reference is behind, cluster
// time runs slower by a tenth until the two are equal. Now does not block.
func (c *Clock) Now() int64 {
	now := c.estimate.Load().clusterTimeAt(c.localTime()) / int64(time.Millisecond)
	for {
		last := c.lastReturned.Load()
		if now <= last {
			return last
		}
		if c.lastReturned.CompareAndSwap(last, now) {
			return now
		}
	}
}

// Ready returns nil while cluster time is reliable. Otherwise the error wraps ErrClock:
// the reference has not answered for over 30 s, or the offset is uncertain by over 100
// ms. Ready does not block or contact Redis. For the embedded server it is always nil.
func (c *Clock) Ready(context.Context) error {
	if c.reference == nil {
		return nil
	}
	now, estimate := c.localTime(), c.estimate.Load()
	if age := time.Duration(now - estimate.answeredAt); age > maxAge {
		return fmt.Errorf("%w: redis has not answered for %s; is it reachable?", ErrClock, age.Round(time.Millisecond))
	}
	if uncertainty := time.Duration(estimate.best.uncertainty(now)); uncertainty > maxUncertainty {
		return fmt.Errorf("%w: it may be off by %s, over %s; is redis slow or far away?", ErrClock, uncertainty.Round(time.Millisecond), maxUncertainty)
	}
	return nil
}

// localTime returns the monotonic time of the process in ns. No clock change affects it.
func (c *Clock) localTime() int64 { return int64(time.Since(c.start)) }

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
	clock := &Clock{start: time.Now(), reference: reference, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}
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

type clockMetrics struct {
	steps        *prometheus.CounterVec
	readFailures prometheus.Counter
}

// newClockMetrics registers the metrics of a clock. They are 0 before its first reading.
func newClockMetrics(r prometheus.Registerer, clock *Clock) *clockMetrics {
	factory := metric.For(r, "laststand_clock_")
	gauge := func(name, help string, ns func(e *estimate, now int64) int64) {
		factory.GaugeFunc(name, help, func() float64 {
			if e := clock.estimate.Load(); e != nil {
				return time.Duration(ns(e, clock.localTime())).Seconds()
			}
			return 0
		})
	}
	gauge("offset_seconds", "Time by which cluster time is ahead of the reference clock.",
		func(e *estimate, now int64) int64 { return e.aheadAt(now) })
	gauge("unconfirmed_step_seconds", "Step of the reference clock that cluster time does not follow because no second clock confirms it; 0 when there is none.",
		func(*estimate, int64) int64 { return clock.ignoredStep.Load() })
	gauge("uncertainty_seconds", "Largest error of the estimate of the reference clock.",
		func(e *estimate, now int64) int64 { return e.best.uncertainty(now) })
	gauge("reference_age_seconds", "Time since the reference clock last answered.",
		func(e *estimate, now int64) int64 { return now - e.answeredAt })
	return &clockMetrics{
		steps:        factory.CountersOf("steps_total", "Steps of the reference clock, by direction.", "direction", "ahead", "behind"),
		readFailures: factory.Counter("read_failures_total", "Reads of the reference clock that failed or took over 1 s."),
	}
}
