package redislimit

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

	"laststand/internal/limit"
	"laststand/internal/protocol"
	"laststand/internal/trial"
)

const epoch = 1_795_212_345_678

// Any history is that of one bucket, whichever node it is asked at.
func TestStoreIsABucket(t *testing.T) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
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
					Mode: rapid.SampledFrom([]limit.Mode{limit.Take, limit.Take, limit.Ask, limit.Charge}).Draw(t, "mode"),
				}
				wait, err := rapid.SampledFrom(nodes).Draw(t, "node").Take(t.Context(), d)
				want := max(0, time.Duration(d.Cost-tokens)*time.Hour)
				switch {
				case d.Mode == limit.Charge:
					want, tokens = 0, max(tokens-d.Cost, -burst)
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

// Over two nodes that are asked at once a key gets what its rule says, and no
// more; its bucket leaves Redis.
func TestOverNodes(t *testing.T) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		terms := limit.Terms{Name: "codes", Most: 60, Per: time.Hour, Wide: true}
		player := limit.Named("demo", ulid.Make().String())
		var allowed atomic.Int64
		var all sync.WaitGroup
		for range 2 {
			rule := limit.New(limit.Config{Shared: New(c, func() int64 { return epoch })}).Rule(terms)
			for range 8 {
				all.Go(func() {
					for range 20 {
						if err := rule.Take(t.Context(), player, 1); err == nil {
							allowed.Add(1)
						} else if refused, ok := errors.AsType[*protocol.Error](err); !ok || refused.RetryAfterMS < 1 || refused.RetryAfterMS > 70_000 {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		if n := allowed.Load(); n != 60 {
			t.Errorf("%d let through, want 60", n)
		}
		ttl, err := c.PTTL(t.Context(), key("codes", player.String())).Result()
		if err != nil || ttl <= 0 || ttl > time.Hour {
			t.Errorf("it lives %v, %v", ttl, err)
		}
	})
}

// A node goes on by its own bucket when Redis dies.
func TestRedisDies(t *testing.T) {
	t.Parallel()
	server := trial.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	rule := limit.New(limit.Config{Shared: New(client, func() int64 { return epoch })}).
		Rule(limit.Terms{Name: "codes", Most: 4, Per: time.Hour, Wide: true})
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
