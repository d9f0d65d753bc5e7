package redislimit

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"laststand/internal/limit"
	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

const epoch = 1_795_212_345_678

// Any sequence of demands, at any node, has the same results as on a model of a bucket.
func TestStoreIsABucket(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		var now atomic.Int64
		now.Store(epoch)
		nodes := []*Store{New(c, now.Load), New(c, now.Load)}
		rapid.Check(t, func(t *rapid.T) {
			burst := rapid.IntRange(1, 12).Draw(t, "burst")
			key, tokens := ulid.Make().String(), burst
			for range rapid.IntRange(1, 15).Draw(t, "steps") {
				hours := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5, 40}).Draw(t, "hours")
				now.Add(int64(hours) * time.Hour.Milliseconds())
				tokens = min(burst, tokens+hours)
				d := limit.Demand{
					Rule: "hourly", Key: key, Cost: rapid.IntRange(1, burst).Draw(t, "cost"), Burst: burst, Interval: time.Hour,
					Mode: rapid.SampledFrom([]limit.Mode{limit.Take, limit.Take, limit.Check, limit.Charge}).Draw(t, "mode"),
				}
				wait, err := rapid.SampledFrom(nodes).Draw(t, "node").Take(t.Context(), d)
				want := max(0, time.Duration(d.Cost-tokens)*time.Hour)
				switch {
				case d.Mode == limit.Charge:
					tokens = max(tokens-d.Cost, -burst)
					want = max(0, time.Duration(1-tokens)*time.Hour)
				case d.Mode == limit.Take && want == 0:
					tokens -= d.Cost
				}
				if err != nil || wait != want {
					t.Fatalf("%+v: wait %v, want %v, left %d; %v", d, wait, want, tokens, err)
				}
			}
		})
	})
}

// Demands with different bursts use one bucket.
func TestBurstsShareABucket(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		node := New(c, func() int64 { return epoch })
		d := limit.Demand{Rule: "coming", Key: ulid.Make().String(), Cost: 1, Interval: time.Minute, Mode: limit.Take}
		for i, step := range [][2]int{{3, 3}, {2, 0}, {5, 2}, {3, 0}, {6, 1}} {
			d.Burst = step[0]
			took := 0
			for wait := time.Duration(0); wait == 0; took++ {
				var err error
				if wait, err = node.Take(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			if took--; took != step[1] {
				t.Errorf("step %d: burst %d let %d through, want %d", i, step[0], took, step[1])
			}
		}
	})
}

// With concurrent demands at two nodes a key gets exactly its tokens. Afterwards
// its bucket leaves Redis.
func TestOverNodes(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		d := limit.Demand{Rule: "codes", Key: ulid.Make().String(), Cost: 1, Burst: 60, Interval: time.Minute, Mode: limit.Take}
		var allowed atomic.Int64
		var all sync.WaitGroup
		for range 2 {
			node := New(c, func() int64 { return epoch })
			for range 8 {
				all.Go(func() {
					for range 20 {
						switch wait, err := node.Take(t.Context(), d); {
						case err != nil || wait != 0 && wait != time.Minute:
							t.Errorf("wait %v, %v", wait, err)
						case wait == 0:
							allowed.Add(1)
						}
					}
				})
			}
		}
		all.Wait()
		if n := allowed.Load(); n != 60 {
			t.Errorf("%d let through, want 60", n)
		}
		ttl, err := c.PTTL(t.Context(), key(d.Rule, d.Key)).Result()
		if err != nil || ttl < 59*time.Minute || ttl > time.Hour { // a key that expires sooner would be full too soon
			t.Errorf("a bucket that was just emptied lives %v, want the hour that its refill takes; %v", ttl, err)
		}
	})
}

// A node continues with its own bucket when Redis fails.
func TestRedisDies(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	rule := limit.New(limit.Config{Store: New(client, func() int64 { return epoch })}).
		Rule(limit.RuleConfig{Name: "codes", Limit: 4, Per: time.Hour, ClusterWide: true})
	ada := limit.Named("demo", "ada")
	take := func() error { return rule.Take(context.Background(), ada, 1) }
	if err := errors.Join(take(), take()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := errors.Join(take(), take()); err != nil {
		t.Errorf("what is left of its own is refused: %v", err)
	}
	if take() == nil {
		t.Error("without Redis there is no limit")
	}
}

// BenchmarkTake measures a cluster-wide rule; every call reaches its Redis.
func BenchmarkTake(b *testing.B) {
	conn, err := redisx.Open(b.Context(), redisx.Config{URL: testenv.Redis(b).URL})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	rule := limit.New(limit.Config{Store: New(conn.Pipelined, func() int64 { return epoch })}).
		Rule(limit.RuleConfig{Name: "r", Limit: 1_000_000, Per: time.Second, Burst: 1 << 40, ClusterWide: true})
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if err := rule.Take(b.Context(), limit.Named("demo", strconv.Itoa(i%1000)), 1); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
