package eventq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// shared is what the parts of a service share.
type shared struct {
	Config
	metrics      *metrics
	games        map[string]*game
	partitions   []*partition
	ids          idGenerator
	lastLoggedAt atomic.Int64 // when a store failure was last logged, epoch ms of this node

	// running counts the loops and the goroutines that they start. Only these and
	// Run start more of them.
	running sync.WaitGroup
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
	s := &shared{Config: c, games: make(map[string]*game, len(c.Games)), metrics: newMetrics(c.Registry)}
	s.ids.init()
	for i := range c.Queue.Partitions() {
		s.partitions = append(s.partitions, newPartition(i))
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

// callContext bounds a call of the store. The end of the service does not cut
// the call off.
func callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}

// recordError counts a failed call of the store, and logs one at intervals.
func (s *shared) recordError(operation string, err error) {
	if err == nil {
		return
	}
	s.metrics.storeErrors.WithLabelValues(operation).Inc()
	now, last := time.Now().UnixMilli(), s.lastLoggedAt.Load()
	if now-last >= logInterval.Milliseconds() && s.lastLoggedAt.CompareAndSwap(last, now) {
		s.Logger.Warn("behaviour queue unavailable; collected behaviours wait", "call", operation, "error", err)
	}
}
