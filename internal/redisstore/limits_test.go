package redisstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"laststand/internal/overload"
	"laststand/internal/testenv"
)

const epoch = 1_795_212_345_678

// Any sequence of demands, at any node, has the same results as on a model of a bucket.
func TestDemandsAgreeWithModelOfBucket(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		var now atomic.Int64
		now.Store(epoch)
		nodes := []*Limits{NewLimits(client, now.Load), NewLimits(client, now.Load)}
		checkBucket := func(t *rapid.T) {
			burst := rapid.IntRange(1, 12).Draw(t, "burst")
			key, tokens := ulid.Make().String(), burst
			for range rapid.IntRange(1, 15).Draw(t, "steps") {
				hours := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5, 40}).Draw(t, "hours")
				now.Add(int64(hours) * time.Hour.Milliseconds())
				tokens = min(burst, tokens+hours)
				demand := overload.SharedDemand{
					Rule: "hourly", Key: key, Cost: rapid.IntRange(1, burst).Draw(t, "cost"), Burst: burst, Interval: time.Hour,
					Mode: rapid.SampledFrom([]overload.Mode{overload.Take, overload.Take, overload.Check, overload.Charge}).Draw(t, "mode"),
				}
				wait, err := rapid.SampledFrom(nodes).Draw(t, "node").Take(t.Context(), demand)
				want := max(0, time.Duration(demand.Cost-tokens)*time.Hour)
				switch {
				case demand.Mode == overload.Charge:
					tokens = max(tokens-demand.Cost, -burst)
					want = max(0, time.Duration(1-tokens)*time.Hour)
				case demand.Mode == overload.Take && want == 0:
					tokens -= demand.Cost
				}
				if err != nil || wait != want {
					t.Fatalf("%+v: wait %v, want %v, %d tokens left; %v", demand, wait, want, tokens, err)
				}
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			for range 12 { // TestMain sets few checks
				checkBucket(t)
			}
		})
	})
}

// Demands with different bursts use one bucket.
func TestDemandsWithDifferentBurstsShareBucket(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		node := NewLimits(client, func() int64 { return epoch })
		demand := overload.SharedDemand{Rule: "coming", Key: ulid.Make().String(), Cost: 1, Interval: time.Minute, Mode: overload.Take}
		for i, step := range [][2]int{{3, 3}, {2, 0}, {5, 2}, {3, 0}, {6, 1}} {
			demand.Burst = step[0]
			allowed := 0
			for wait := time.Duration(0); wait == 0; allowed++ {
				var err error
				if wait, err = node.Take(t.Context(), demand); err != nil {
					t.Fatal(err)
				}
			}
			if allowed--; allowed != step[1] {
				t.Errorf("step %d: burst %d allowed %d, want %d", i, step[0], allowed, step[1])
			}
		}
	})
}

// With concurrent demands at two nodes a key gets exactly its tokens. Afterwards
// its bucket expires in Redis.
func TestConcurrentDemandsAtTwoNodesGetExactlyTheTokens(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		demand := overload.SharedDemand{Rule: "codes", Key: ulid.Make().String(), Cost: 1, Burst: 60, Interval: time.Minute, Mode: overload.Take}
		var allowed atomic.Int64
		var callers sync.WaitGroup
		for range 2 {
			node := NewLimits(client, func() int64 { return epoch })
			for range 8 {
				callers.Go(func() {
					for range 20 {
						switch wait, err := node.Take(t.Context(), demand); {
						case err != nil || wait != 0 && wait != time.Minute:
							t.Errorf("wait %v, %v", wait, err)
						case wait == 0:
							allowed.Add(1)
						}
					}
				})
			}
		}
		callers.Wait()
		if n := allowed.Load(); n != 60 {
			t.Errorf("%d allowed, want 60", n)
		}
		ttl, err := client.PTTL(t.Context(), bucketKey(demand.Rule, demand.Key)).Result()
		if err != nil || ttl < 59*time.Minute || ttl > time.Hour { // a key that expires sooner would be full too soon
			t.Errorf("a bucket that was just emptied lives %v, want the hour that its refill takes; %v", ttl, err)
		}
	})
}

// A node continues with its own bucket when Redis fails.
func TestNodeDecidesAloneIfRedisFails(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	rule := overload.NewLimiter(overload.LimiterConfig{Store: NewLimits(client, func() int64 { return epoch })}).
		NewRule(overload.RuleConfig{Name: "codes", Limit: 4, Per: time.Hour, ClusterWide: true})
	ada := overload.ObjectKey("demo", "ada")
	take := func() error { return rule.Take(context.Background(), ada, 1) }
	testenv.NoError(t, errors.Join(take(), take()))
	server.Kill()
	if err := errors.Join(take(), take()); err != nil {
		t.Errorf("a demand within the node's own bucket is refused: %v", err)
	}
	if take() == nil {
		t.Error("without Redis there is no limit")
	}
}
