package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"laststand/internal/limit"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Any sequence of reservations has the same results as on a model of a bucket. Returning a token
// restores the bucket exactly, and a reserved token does not refill.
func TestReservationsAgreeWithModelOfBucket(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		var now atomic.Int64
		now.Store(epoch)
		nodes := []*Limits{NewLimits(client, now.Load), NewLimits(client, now.Load)}
		rapid.Check(t, func(t *rapid.T) {
			burst := rapid.IntRange(1, 6).Draw(t, "burst")
			demand := limit.SharedDemand{Rule: "hourly", Key: ulid.Make().String(), Burst: burst, Interval: time.Hour}
			tokens, reserved := burst, 0
			for range rapid.IntRange(1, 20).Draw(t, "steps") {
				hours := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 9}).Draw(t, "hours")
				now.Add(int64(hours) * time.Hour.Milliseconds())
				tokens = min(burst-reserved, tokens+hours)
				node := rapid.SampledFrom(nodes).Draw(t, "node")
				if reserved > 0 && rapid.Bool().Draw(t, "finish") {
					isSpent := rapid.Bool().Draw(t, "spent")
					if err := node.FinishReservation(t.Context(), demand, isSpent); err != nil {
						t.Fatal(err)
					}
					if reserved--; !isSpent {
						tokens++
					}
					continue
				}
				wait, err := node.Reserve(t.Context(), demand)
				want := time.Duration(0)
				switch {
				case tokens > 0:
					tokens, reserved = tokens-1, reserved+1
				case reserved > 0:
					want = limit.RetrySoon
				default:
					want = time.Hour
				}
				if err != nil || wait != want {
					t.Fatalf("wait %v, want %v, %d tokens left, %d reserved; %v", wait, want, tokens, reserved, err)
				}
			}
		})
	})
}

// A reservation of a node that has stopped expires: its token counts as spent, and other
// attempts do not wait for it any more.
func TestReservationExpires(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		store := NewLimits(client, func() int64 { return epoch })
		demand := limit.SharedDemand{Rule: "codes", Key: ulid.Make().String(), Burst: 1, Interval: time.Hour}
		first, _ := store.Reserve(t.Context(), demand)
		ttl, err := client.PTTL(t.Context(), reservedTokensKey(demand.Rule, demand.Key)).Result()
		if second, _ := store.Reserve(t.Context(), demand); err != nil || first != 0 || second != limit.RetrySoon || ttl <= 0 || ttl > reservationTTL {
			t.Errorf("first wait %v, second wait %v, reserved for %v, %v", first, second, ttl, err)
		}
		client.Del(t.Context(), reservedTokensKey(demand.Rule, demand.Key)) // it has expired
		if err := store.FinishReservation(t.Context(), demand, false); err != nil {
			t.Error(err)
		}
		if after, err := store.Reserve(t.Context(), demand); err != nil || after != time.Hour {
			t.Errorf("after the return of an expired reservation: wait %v, %v", after, err)
		}
	})
}

// Of wrong attempts at three nodes at the same time, exactly the limit is allowed. After one
// player has used the right code at one node, a school may use it at all nodes.
func TestAttemptsAtSeveralNodesUseExactlyTheTokens(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		const maxWrong = 20
		rule, address, nodes := ulid.Make().String(), limit.ObjectKey("", "school"), make([]*limit.FailureLimiter, 4)
		registry := prometheus.NewRegistry()
		for i := range nodes {
			nodeRegistry := prometheus.WrapRegistererWith(prometheus.Labels{"node": fmt.Sprint(i)}, registry)
			limiter := limit.New(limit.Config{Store: NewLimits(client, func() int64 { return epoch }), Registry: nodeRegistry})
			nodes[i] = &limit.FailureLimiter{PerAddress: limiter.NewRule(limit.RuleConfig{Name: rule, Subject: "codes", Limit: maxWrong, Per: time.Hour, ClusterWide: true})}
		}
		tryConcurrently := func(n int, secret func(int) string, result error) (allowedCount int64) {
			var allowed atomic.Int64
			var attempts sync.WaitGroup
			for i := range n {
				attempts.Go(func() {
					_ = nodes[i%3].Try(context.Background(), limit.Attempt{Address: address, Secret: secret(i)}, func() error {
						allowed.Add(1)
						return result
					})
				})
			}
			attempts.Wait()
			return allowed.Load()
		}
		wrong := protocol.Errorf(protocol.CodeNotFound, "none")
		right := func(int) string { return "demo/402951" }
		if n := tryConcurrently(60, right, nil); n != 60 && countLocalDecisions(t, registry) == 0 {
			t.Errorf("%d of 60 were allowed", n)
		}
		n := tryConcurrently(60, func(i int) string { return fmt.Sprint(i) }, wrong)
		if localOnly := countLocalDecisions(t, registry); n > maxWrong+localOnly || n < maxWrong-localOnly {
			t.Errorf("%d wrong attempts were allowed, want %d, or up to %d more or fewer", n, maxWrong, localOnly)
		}
		err := nodes[3].Try(t.Context(), limit.Attempt{Address: address, Secret: right(0)}, func() error { return nil })
		if err != nil && countLocalDecisions(t, registry) == 0 {
			t.Errorf("at a node where the code was never used: %v", err)
		}
	})
}

// countLocalDecisions returns how often a node decided alone: Redis is slow on a busy machine.
func countLocalDecisions(t *testing.T, registry *prometheus.Registry) (n int64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "laststand_limit_store_errors_total" {
				n += int64(metric.GetCounter().GetValue())
			}
		}
	}
	return n
}

// The newest secrets are kept for a day.
func TestNewestSecretsAreStoredForADay(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		now := int64(epoch)
		store, key := NewLimits(client, func() int64 { now++; return now }), ulid.Make().String()
		for i := range limit.MaxSecretsPerKey + 3 {
			if err := store.AddSecret(t.Context(), "codes", key, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := store.ListSecrets(t.Context(), "codes", key)
		ttl := client.PTTL(t.Context(), secretsKey("codes", key)).Val()
		if err != nil || len(got) != limit.MaxSecretsPerKey || slices.Contains(got, "2") || !slices.Contains(got, "3") || ttl <= 0 || ttl > secretTTL {
			t.Errorf("%d for %v, %v", len(got), ttl, err)
		}
	})
}

// A node continues with its own bucket when Redis fails during an attempt.
func TestNodeDecidesAloneIfRedisFailsDuringAttempt(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	limiter := &limit.FailureLimiter{PerAddress: limit.New(limit.Config{Store: NewLimits(client, func() int64 { return epoch })}).
		NewRule(limit.RuleConfig{Name: "codes", Limit: 2, Per: time.Hour, ClusterWide: true})}
	tryWrongCode := func(during func()) error {
		return limiter.Try(context.Background(), limit.Attempt{Address: limit.ObjectKey("", "a"), Secret: "x"}, func() error {
			during()
			return protocol.Errorf(protocol.CodeNotFound, "none")
		})
	}
	errorCode := func(err error) protocol.Code {
		e, _ := errors.AsType[*protocol.Error](err)
		return e.Code
	}
	first, second, third := tryWrongCode(server.Kill), tryWrongCode(func() {}), tryWrongCode(func() {})
	if errorCode(first) != protocol.CodeNotFound || errorCode(second) != protocol.CodeNotFound || errorCode(third) != protocol.CodeRateLimited {
		t.Errorf("%v, %v, %v", first, second, third)
	}
}
