package bench

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
)

// A way transports events of games from producers to reporters.
type way interface {
	// offer sends events, one for each listed game.
	offer(ctx context.Context, games []int) error
	// report passes the arriving events to the flow until ctx ends.
	report(ctx context.Context) error
	// lost returns the number of dropped events, after everything has ended. It returns an
	// error if the way has counted wrong.
	lost(ctx context.Context) (int64, error)
}

// A load is a way and its producers.
type load struct {
	name      string
	producers int
	chunk     int   // events that a producer offers at once
	window    int64 // highest number of events between offer and report
	open      func(b *testing.B, rdb *redis.Client, f *flow) way
}

// warming is the time until the queues have reached their usual length. Laststand reports
// events of idle games when the oldest event has waited for -flush.
const warming = 2 * time.Second

// drive measures a load on an empty Redis.
func drive(b *testing.B, rdb *redis.Client, l load) figures {
	b.Helper()
	if err := rdb.FlushAll(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	f := newFlow(l.window)
	w := l.open(b, rdb, f)
	stopReporting := start(b, w.report)
	stopProducing := start(b, func(ctx context.Context) error { return l.produce(ctx, w, f) })
	time.Sleep(warming)
	f.measuring.Store(true)
	before := spend(b, rdb, f)
	time.Sleep(*seconds)
	after := spend(b, rdb, f)
	f.measuring.Store(false)
	stopProducing()
	f.drain(b)
	stopReporting()
	lost, err := w.lost(b.Context())
	if err == nil {
		err = f.whole(lost)
	}
	if err != nil {
		b.Fatalf("%s: %v", l.name, err)
	}
	return after.since(before).figures(f.taken)
}

// produce offers events until ctx ends. It does not interrupt an offer that has started.
func (l load) produce(ctx context.Context, w way, f *flow) error {
	var group errgroup.Group
	all := owners()
	for p := range l.producers {
		group.Go(func() error {
			for i := p; ; i += l.producers {
				if !f.admit(ctx, l.chunk) {
					return nil
				}
				at := i * l.chunk % (len(all) - l.chunk)
				if err := w.offer(context.WithoutCancel(ctx), all[at:at+l.chunk]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// start runs f until the caller calls stop. stop returns when f has ended.
func start(b *testing.B, f func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := f(ctx); err != nil {
			b.Error(err)
		}
	}()
	return func() { cancel(); <-ended }
}

func connect(b *testing.B) *redis.Client {
	o, err := redis.ParseURL(testenv.Redis(b).URL)
	if err != nil {
		b.Fatal(err)
	}
	o.PoolSize, o.ReadTimeout = 256, time.Minute
	rdb := redis.NewClient(o)
	b.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
