package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrClock is wrapped by what Ready returns.
var ErrClock = errors.New("cluster time is not certain")

const (
	maxUncertainty = 100 * time.Millisecond
	maxAge         = 30 * time.Second
)

// ClockConfig says whom a Clock tells.
type ClockConfig struct {
	// Registry takes the metrics; nil for none. It takes those of one Clock only.
	Registry prometheus.Registerer
	// Logger hears when the reference falls silent, answers again or jumps; nil for none.
	Logger *slog.Logger

	keep keeper // nil: there is none
}

// Clock is cluster time at this node: the process's monotonic clock and its
// offset to the clock of one Redis, the master that owns the key `clock`, on
// which all nodes agree. The key keeps the newest cluster time told, from which a
// new node starts. A leap of over 5 s is followed only once a second clock
// agrees. An embedded Redis has no other node to agree with:
// there it is the wall clock at the start and the monotonic clock from then on.
//
// Now and Ready are for concurrent use, also while Run runs.
type Clock struct {
	start    time.Time // where local time is counted from; of no other meaning
	at       atomic.Pointer[estimate]
	told     atomic.Int64 // the latest that Now has returned
	ask      reference    // nil: there is none
	keep     keeper       // nil: there is none
	witness  Witness      // nil: there is none
	held     atomic.Int64 // ns of a leap of the reference that is not followed; 0: none
	maxAge   time.Duration
	log      *slog.Logger
	metrics  *clockMetrics
	readings filter // NewClock's, then Run's
	silent   bool   // Run's: the last reading failed
}

// estimate is what is known of the reference, never changed once published.
type estimate struct {
	line
	best  reading // the most certain, which the line leads to
	heard int64   // ns of local time when the reference last answered
}

// NewClock takes a first reading, so that Now is right from the start. Where
// none succeeds within 5 s it fails, and says what to do. The context bounds
// this only; Run keeps the clock right afterwards.
func NewClock(ctx context.Context, conn *Conn, cfg ClockConfig) (*Clock, error) {
	if conn.Kind == KindEmbedded {
		return newClock(ctx, nil, cfg)
	}
	cfg.keep = masterRecord(conn.Client)
	return newClock(ctx, masterTime(conn.Client), cfg)
}

func newClock(ctx context.Context, ask reference, cfg ClockConfig) (*Clock, error) {
	c := &Clock{start: time.Now(), ask: ask, keep: cfg.keep, maxAge: maxAge, log: cfg.Logger}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.metrics = newClockMetrics(c)
	if ask == nil {
		c.at.Store(&estimate{line: line{offset: c.start.UnixNano()}})
		return c, nil
	}
	if err := c.first(ctx); err != nil {
		return nil, fmt.Errorf("cluster time: ask redis for its time: %w; %s", err, remedy(err, address{}))
	}
	if cfg.Registry == nil {
		return c, nil
	}
	if err := cfg.Registry.Register(c.metrics); err != nil {
		return nil, fmt.Errorf("register the metrics of cluster time: %w", err)
	}
	return c, nil
}

// Now is cluster time in epoch ms. It never goes backwards, over all callers:
// whoever calls after another has returned gets no less. Where the reference
// turns out to be ahead it leaps; where behind it goes slower by a tenth until
// they meet. It does not block.
func (c *Clock) Now() int64 {
	now := c.at.Load().read(c.local()) / int64(time.Millisecond)
	for {
		told := c.told.Load()
		if now <= told {
			return told
		}
		if c.told.CompareAndSwap(told, now) {
			return now
		}
	}
}

// Ready is nil while cluster time can be relied on, and else an error that
// wraps ErrClock: the reference has not answered for over 30 s, or the offset
// is uncertain by over 100 ms. It asks nobody and does not block. Embedded it
// is always nil.
func (c *Clock) Ready(context.Context) error {
	if c.ask == nil {
		return nil
	}
	now, known := c.local(), c.at.Load()
	if age := time.Duration(now - known.heard); age > c.maxAge {
		return fmt.Errorf("%w: redis has not told its time for %s; is it reachable?", ErrClock, age.Round(time.Millisecond))
	}
	if unsure := time.Duration(known.best.uncertainty(now)); unsure > maxUncertainty {
		return fmt.Errorf("%w: it may be off by %s, over %s; is redis slow or far away?", ErrClock, unsure.Round(time.Millisecond), maxUncertainty)
	}
	return nil
}

// local is the process's own time in ns, which nobody sets.
func (c *Clock) local() int64 { return int64(time.Since(c.start)) }
