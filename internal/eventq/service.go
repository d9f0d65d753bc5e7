package eventq

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a service is made of; all fields are needed.
type Config struct {
	Games    []Policy
	Sinks    map[string]Sink // by game; where there is none, nothing is taken from the game's queue
	Queue    Queue
	Admin    Admin
	Nodes    Nodes
	Node     string       // names this node among all
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Service takes behaviours in at its door, collects and queues them, and
// reports its share of what all nodes have queued. It is safe for concurrent
// use; Run is called once.
//
// Two loops run for each partition, so that one whose store is out of reach
// holds up no other: the collector pushes, the tending loop finds due games, renews
// and retries what waits. Tries to send run in lanes, or for hot games in
// reporters of their own.
type Service struct {
	Config
	metrics      *metrics
	games        map[string]*game
	partitions   []*partition
	shared, slow *workerPool
	members      atomic.Pointer[membership]
	ids          idGenerator
	buffered     atomic.Int64 // items that are collected and not pushed, of all games
	waitingItems atomic.Int64 // items in batches that wait for a retry, of all games
	lastLoggedAt atomic.Int64 // when a failure of the store was last logged, epoch ms of this node

	// running are the loops, workers and reporters. Only they start more of them,
	// and Run.
	running sync.WaitGroup
}

// A game is what the service keeps of one: what goes in, and what goes out.
type game struct {
	Policy
	sink      Sink
	partition *partition
	buffer    gameBuffer
	reporter  gameReporter
}

const (
	callTimeout = 2 * time.Second // of the store
	logInterval = 10 * time.Second
)

// New makes a service. What is offered before Run waits for it.
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

// Run collects and reports until the context ends. Then tries under way finish,
// what was collected is pushed, as long as that takes no more than 5 s, what
// waits for a retry is given back, and the node says goodbye. It returns nil
// once everything that it started has ended.
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

// Duty gives the partitions whose games this node reports, and the nodes that
// are alive, itself too: as last seen, none before that.
func (s *Service) Duty() (partitions []int, alive []string) {
	m := s.members.Load()
	for p, owned := range m.owned {
		if owned {
			partitions = append(partitions, p)
		}
	}
	return partitions, m.alive
}

// call bounds a call of the store; the end of the service does not cut it off.
func callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}

// note counts a failed call of the store, and now and then logs one.
func (s *Service) recordError(operation string, err error) {
	if err == nil {
		return
	}
	s.metrics.storeErrors.WithLabelValues(operation).Inc()
	now, last := time.Now().UnixMilli(), s.lastLoggedAt.Load()
	if now-last >= logInterval.Milliseconds() && s.lastLoggedAt.CompareAndSwap(last, now) {
		s.Logger.Warn("the queue of behaviours does not answer as it should; what is collected waits", "call", operation, "error", err)
	}
}

// pause waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// signal wakes whoever waits at a channel of one place.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
