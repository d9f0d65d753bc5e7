package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/eventq/redisqueue"
	"laststand/internal/redisx"
)

// ours is the queue as the server runs it, with a sink that only counts. Like the events of
// the article, these events have no ids to check.
type ours struct {
	*eventq.Service
	queue *redisqueue.Store
	flow  *flow
	games []string
}

// openOurs sets a rate per game that is never reached.
func openOurs(b *testing.B, rdb *redis.Client, f *flow) way {
	b.Helper()
	games := gameNames(*games)
	conn, err := redisx.Open(b.Context(), redisx.Config{URL: "redis://" + rdb.Options().Addr})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	terms, sinks := make([]eventq.Policy, len(games)), make(map[string]eventq.Sink, len(games))
	for i, game := range games {
		terms[i] = eventq.Policy{
			Game: game, MaxLen: int(*window), Overflow: eventq.DropOldest, BatchSize: eventq.MaxBatch,
			FlushMS: flush.Milliseconds(), MaxAgeMS: eventq.MaxAgeMS, PerSecond: 100_000, Burst: 100_000,
			Report: []string{eventq.MatchEnd},
		}
		sinks[game] = counting{f}
	}
	queue := redisqueue.New(conn.Bulk)
	return &ours{queue: queue, flow: f, games: games, Service: eventq.New(eventq.Config{
		Games: terms, Sinks: sinks, Queue: queue, Admin: queue, Nodes: queue, Node: "bench",
		Now: func() int64 { return time.Now().UnixMilli() }, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})}
}

// counting is a sink that counts the sent events.
type counting struct{ flow *flow }

func (counting) Check(eventq.Behaviour) error { return nil }

func (c counting) Send(_ context.Context, batch eventq.Batch) eventq.Outcome {
	c.flow.arrived(len(batch.Items), func(i int) int64 { return batch.Items[i].At })
	return eventq.Outcome{Delivery: eventq.Delivered, Code: "200"}
}

func (counting) Close() error { return nil }

// samples are behaviours that have the usual size after an id and a time are added. Each
// belongs to another player, so that they differ as much as real ones.
var samples = sync.OnceValue(func() []eventq.Behaviour {
	all := make([]eventq.Behaviour, 4096)
	for i := range all {
		all[i] = eventq.Behaviour{
			Type: eventq.MatchEnd, Player: fmt.Sprintf("p_%012x", rand.Uint64N(1<<48)), Session: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()),
			Account: eventq.Guest, Data: fmt.Appendf(nil, `{"score":%d,"rank":%d}`, rand.IntN(10_000), 1+rand.IntN(10)),
		}
	}
	return all
})

func (o *ours) offer(_ context.Context, games []int) error {
	for _, game := range games {
		o.Offer(o.games[game], samples()[rand.IntN(len(samples()))])
	}
	return nil
}

func (o *ours) report(ctx context.Context) error { return o.Run(ctx) }

// lost returns the queue's count of dropped events, and checks that count.
func (o *ours) lost(ctx context.Context) (lost int64, err error) {
	statuses, err := o.queue.Status(ctx, o.games, time.Now().UnixMilli())
	if err != nil {
		return 0, err
	}
	var counts eventq.Counts
	for _, status := range statuses {
		counts.Add(status.Counts)
	}
	for _, n := range counts.Dropped {
		lost += n
	}
	if counts.Offered != o.flow.offered.Load() || counts.Sent != o.flow.reported.Load() {
		err = fmt.Errorf("it counts %+v, and %d were offered, %d reported", counts, o.flow.offered.Load(), o.flow.reported.Load())
	}
	return lost, err
}
