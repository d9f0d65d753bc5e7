package behaviours

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

	"laststand/internal/behaviour"
	"laststand/internal/behaviour/redisqueue"
	"laststand/internal/redisx"
)

// ours is the queue as the server runs it, with a sink that counts, for events
// that have no ids to be looked for, as the article's have none.
type ours struct {
	*behaviour.Service
	queue *redisqueue.Store
	flow  *flow
	games []string
}

func openOurs(b *testing.B, rdb *redis.Client, f *flow) way {
	return newOurs(b, rdb, f, gameNames(*games))
}

// newOurs sets a rate for each game that nothing reaches.
func newOurs(b *testing.B, rdb *redis.Client, f *flow, games []string) *ours {
	b.Helper()
	conn, err := redisx.Open(b.Context(), redisx.Config{URL: "redis://" + rdb.Options().Addr})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	terms, sinks := make([]behaviour.Terms, len(games)), make(map[string]behaviour.Sink, len(games))
	for i, game := range games {
		terms[i] = behaviour.Terms{
			Game: game, MaxLen: int(*window), Overflow: behaviour.DropOldest, BatchSize: behaviour.MaxBatch,
			FlushMS: flush.Milliseconds(), MaxAgeMS: behaviour.MaxAgeMS, PerSecond: 100_000, Burst: 100_000,
			Report: []string{behaviour.MatchEnd},
		}
		sinks[game] = counting{f}
	}
	queue := redisqueue.New(conn.Bulk)
	return &ours{queue: queue, flow: f, games: games, Service: behaviour.New(behaviour.Config{
		Games: terms, Sinks: sinks, Queue: queue, Desk: queue, Nodes: queue, Node: "bench",
		Now: func() int64 { return time.Now().UnixMilli() }, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})}
}

// counting is a sink that counts what is sent.
type counting struct{ flow *flow }

func (counting) Check(behaviour.Behaviour) error { return nil }

func (c counting) Send(_ context.Context, batch behaviour.Batch) behaviour.Outcome {
	c.flow.arrived(len(batch.Items), func(i int) int64 { return batch.Items[i].At })
	return behaviour.Outcome{Fate: behaviour.Arrived, Code: "200"}
}

func (counting) Close() error { return nil }

// samples are what players did, of the usual size once they have an id and a
// time. Each is another player's, so that they are no more alike than real ones.
var samples = sync.OnceValue(func() []behaviour.Behaviour {
	all := make([]behaviour.Behaviour, 4096)
	for i := range all {
		all[i] = behaviour.Behaviour{
			Type: behaviour.MatchEnd, Player: fmt.Sprintf("p_%012x", rand.Uint64N(1<<48)), Session: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()),
			Account: behaviour.Guest, Data: fmt.Appendf(nil, `{"score":%d,"rank":%d}`, rand.IntN(10_000), 1+rand.IntN(10)),
		}
	}
	return all
})

func sample() *behaviour.Behaviour {
	all := samples()
	return &all[rand.IntN(len(all))]
}

func (o *ours) offer(_ context.Context, games []int) error {
	for _, game := range games {
		o.Offer(o.games[game], *sample())
	}
	return nil
}

func (o *ours) report(ctx context.Context) error { return o.Run(ctx) }

// counts are the queue's own.
func (o *ours) counts(b *testing.B) behaviour.Counts {
	b.Helper()
	counts, err := o.queue.Totals(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return counts
}

// lost is what the queue has counted as dropped, which it must have done right.
func (o *ours) lost(ctx context.Context) (lost int64, err error) {
	counts, err := o.queue.Totals(ctx)
	if err != nil {
		return 0, err
	}
	for _, n := range counts.Dropped {
		lost += n
	}
	if counts.Offered != o.flow.offered.Load() || counts.Sent != o.flow.reported.Load() {
		err = fmt.Errorf("it counts %+v, and %d were offered, %d reported", counts, o.flow.offered.Load(), o.flow.reported.Load())
	}
	return lost, err
}
