package eventq

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config configures a Service. All fields are required.
type Config struct {
	Games    []Policy
	Sinks    map[string]Sink // by game; a node takes nothing from a queue without a sink
	Queue    Queue
	Admin    Admin
	Nodes    Nodes
	Node     string       // unique among all nodes
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Service accepts behaviours, buffers and queues them, and reports its share of
// what all nodes have queued. It is safe for concurrent use. Run is called
// once.
//
// Two loops run for each partition, so that an unreachable store of one
// partition holds up no other. The collector pushes. The other loop finds due
// games, renews leases and schedules retries. Attempts to send run in worker
// pools, or for hot games in dedicated reporters.
type Service struct {
	Config
	metrics      *metrics
	games        map[string]*game
	partitions   []*partition
	shared, slow *workerPool
	members      atomic.Pointer[membership]
	ids          idGenerator
	buffered     atomic.Int64 // items of all games that are not pushed yet
	waitingItems atomic.Int64 // items of all batches that wait for a retry
	lastLoggedAt atomic.Int64 // when a store failure was last logged, epoch ms of this node

	// running counts the loops, workers and reporters. Only they and Run start
	// more of them.
	running sync.WaitGroup
}

// game is what the service keeps about one game.
type game struct {
	Policy
	sink      Sink
	partition *partition
	buffer    gameBuffer
	reporter  gameReporter
}

const (
	callTimeout = 2 * time.Second // of a call of the store
	logInterval = 10 * time.Second
)

// New returns a Service. It collects what is offered before Run.
func New(c Config) *Service {
	s := &Service{
		Config: c, games: make(map[string]*game, len(c.Games)),
		shared: &workerPool{name: "shared", limit: 64}, slow: &workerPool{name: "slow", limit: 64},
	}
	s.ids.init()
	s.members.Store(&membership{owned: make([]bool, c.Queue.Partitions())})
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
	s.metrics = newMetrics(c.Registry)
	c.Registry.MustRegister(newStatsCollector(s))
	return s
}

// Run collects and reports until the context ends. Then attempts under way
// finish, the buffers are pushed for at most 5 s, waiting batches are requeued,
// and the node leaves. It returns nil after everything that it started has
// ended.
func (s *Service) Run(ctx context.Context) error {
	var collectors sync.WaitGroup
	for _, p := range s.partitions {
		collectors.Go(func() { s.runCollector(ctx, p) })
		s.running.Go(func() { s.runPartition(ctx, p) })
	}
	s.running.Go(func() { s.runHeartbeats(ctx) })
	s.running.Go(func() { s.runMaintenance(ctx) })
	s.running.Wait()
	collectors.Wait()
	s.requeueAll(ctx)
	s.leaveNodes(ctx)
	return nil
}

// Duty returns the partitions whose games this node reports, and the nodes that
// are alive, including this one. Both are as last seen, and empty before the
// first heartbeat.
func (s *Service) Duty() (partitions []int, alive []string) {
	m := s.members.Load()
	for p, owned := range m.owned {
		if owned {
			partitions = append(partitions, p)
		}
	}
	return partitions, m.alive
}

// callContext bounds a call of the store. The end of the service does not cut
// the call off.
func callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}

// recordError counts a failed call of the store, and logs one at intervals.
func (s *Service) recordError(operation string, err error) {
	if err == nil {
		return
	}
	s.metrics.storeErrors.WithLabelValues(operation).Inc()
	now, last := time.Now().UnixMilli(), s.lastLoggedAt.Load()
	if now-last >= logInterval.Milliseconds() && s.lastLoggedAt.CompareAndSwap(last, now) {
		s.Logger.Warn("behaviour queue unavailable; collected behaviours wait", "call", operation, "error", err)
	}
}

// sleep waits for a time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// signal wakes the reader of a channel with room for one value.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
