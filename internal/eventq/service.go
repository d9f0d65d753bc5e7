package eventq

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
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

// Service accepts behaviours, buffers and queues them, and sends its share of
// what all nodes have queued. It is safe for concurrent use. Run is called
// once.
//
// Its parts, each of which calls only those below it: intake pushes what is
// offered and posted; sender takes and sends batches; membership knows which
// nodes share the work.
type Service struct {
	*intake
	sender  *sender
	members *membership
}

// New returns a Service. It collects what is offered before Run.
func New(c Config) *Service {
	all := newShared(c)
	members := newMembership(all)
	sender := &sender{shared: all, members: members, places: semaphore.NewWeighted(maxWorkers)}
	c.Registry.MustRegister(newStatsCollector(all))
	return &Service{intake: &intake{shared: all, sender: sender, filled: make(chan *game, len(all.games))}, sender: sender, members: members}
}

// Run collects and sends until the context ends. Then attempts under way
// finish, the buffers are pushed for at most 5 s, and the node leaves. It returns
// nil after everything that it started has ended.
//
// One loop pushes what is collected. A loop for each partition finds due games, so that an
// unreachable store of one partition holds up no other.
func (s *Service) Run(ctx context.Context) error {
	var collector sync.WaitGroup
	collector.Go(func() { s.runCollector(ctx) })
	for _, p := range s.partitions {
		s.running.Go(func() { s.sender.runPartition(ctx, p) })
	}
	s.running.Go(func() { s.members.runHeartbeats(ctx) })
	s.running.Wait()
	collector.Wait()
	s.members.leave(ctx)
	return nil
}

// Alive returns the nodes that are alive, including this one, sorted. They are as last
// seen, and none before the first heartbeat.
func (s *Service) Alive() []string { return s.members.alive() }
