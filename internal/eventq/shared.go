package eventq

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// shared is what the parts of a service share.
type shared struct {
	Config
	metrics    *metrics
	games      map[string]*game
	partitions []*partition
	ids        idGenerator
	warnings   rate.Sometimes // of failures of the store

	// running counts the loops and the goroutines that they start. Only these and
	// Run start more of them.
	running sync.WaitGroup
}

// partition is what the service keeps about the games of one partition.
type partition struct {
	index   int
	games   []*game
	pollNow chan struct{} // the loop should poll now
}

// game is what the service keeps about one game.
type game struct {
	Policy
	sink      Sink
	partition *partition
	buffer    gameBuffer
	sending   sendState
}

const (
	callTimeout = 2 * time.Second // of a call of the store
	logInterval = 10 * time.Second
)

func newShared(c Config) *shared {
	s := &shared{
		Config: c, games: make(map[string]*game, len(c.Games)), metrics: newMetrics(c.Registry),
		ids: newIDGenerator(), warnings: rate.Sometimes{Interval: logInterval},
	}
	for i := range c.Queue.Partitions() {
		s.partitions = append(s.partitions, &partition{index: i, pollNow: make(chan struct{}, 1)})
	}
	for _, t := range c.Games {
		t.BatchSize = min(max(t.BatchSize, 1), MaxBatch)
		t.MaxAgeMS = min(t.MaxAgeMS, MaxAgeMS)
		p := s.partitions[c.Queue.Partition(t.Game)]
		g := &game{Policy: t, sink: c.Sinks[t.Game], partition: p}
		s.games[t.Game] = g
		p.games = append(p.games, g)
	}
	return s
}

// reports returns true if the game reports behaviours of a type of this server's
// players. A nil game reports none.
func (g *game) reports(kind string) bool { return g != nil && slices.Contains(g.Report, kind) }

// call makes a call of the store, of at most callTimeout, and records its failure. The
// end of ctx does not cut the call off.
func (s *shared) call(ctx context.Context, operation string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	err := do(ctx)
	s.recordError(operation, err)
	return err
}

// withGrace returns a context that ends the given time after another one.
func withGrace(ctx context.Context, d time.Duration) (longer context.Context, cancel context.CancelFunc) {
	longer, cancelLonger := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancelLonger) })
	return longer, func() { stop(); cancelLonger() }
}

// recordError counts a failed call of the store, and logs one at intervals.
func (s *shared) recordError(operation string, err error) {
	if err == nil {
		return
	}
	s.metrics.storeErrors.WithLabelValues(operation).Inc()
	s.warnings.Do(func() {
		s.Logger.Warn("behaviour queue unavailable; collected behaviours wait", "call", operation, "error", err)
	})
}
