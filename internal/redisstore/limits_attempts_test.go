package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// replyLoss is a hook of a Redis client that runs commands and then loses their replies
// while lost is true.
type replyLoss struct{ lost atomic.Bool }

var errReplyLost = errors.New("the reply is lost")

func (l *replyLoss) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *replyLoss) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		err := next(ctx, command)
		if l.lost.Load() {
			command.SetErr(errReplyLost)
			return errReplyLost
		}
		return err
	}
}

func (l *replyLoss) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A right code costs nothing, also if Redis loses the replies and the join is answered with
// unavailable many times.
func TestRightCodeCostsNothingWhileRedisFails(t *testing.T) {
	t.Parallel()
	const quota = 2
	server, loss := testenv.Redis(t), &replyLoss{}
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	defer client.Close()
	client.AddHook(loss)
	newNode := func() *overload.FailureLimiter {
		limiter := overload.NewLimiter(overload.LimiterConfig{Store: NewLimits(client, func() int64 { return epoch })})
		return overload.NewFailureLimiter(overload.FailureLimiter{PerAddress: limiter.NewRule(overload.RuleConfig{Name: "codes", Subject: "codes", Limit: quota, Per: time.Hour, ClusterWide: true})})
	}
	failing := newNode()
	other := overload.Attempt{Address: overload.ObjectKey("", "other"), Secret: "wrong"}
	_ = failing.Try(t.Context(), other, func() error { return protocol.Errorf(protocol.CodeNotFound, "none") }) // loads the scripts
	loss.lost.Store(true)
	for i := range 3 * quota {
		err := failing.Try(t.Context(), overload.Attempt{Secret: "demo/402951"}, func() error { return errReplyLost })
		if !errors.Is(err, errReplyLost) {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
	loss.lost.Store(false)
	for _, node := range []*overload.FailureLimiter{failing, newNode()} {
		if err := node.Try(t.Context(), overload.Attempt{Secret: "demo/402951"}, func() error { return nil }); err != nil {
			t.Errorf("the right code after the failures: %v", err)
		}
	}
	tries := 0
	for range 3 * quota {
		_ = newNode().Try(t.Context(), overload.Attempt{Secret: "wrong"}, func() error {
			tries++
			return protocol.Errorf(protocol.CodeNotFound, "none")
		})
	}
	if tries != quota {
		t.Errorf("%d wrong codes were tried after the failures, want %d", tries, quota)
	}
}

// Of wrong attempts at three nodes at the same time, the limit is allowed, and at most one
// more for each other node. After one player has used the right code at one node, a school
// may use it at all nodes.
func TestAttemptsAtSeveralNodesShareTheTokens(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		const maxWrong = 20
		rule, address, nodes := ulid.Make().String(), overload.ObjectKey("", "school"), make([]*overload.FailureLimiter, 4)
		registry := prometheus.NewRegistry()
		for i := range nodes {
			nodeRegistry := prometheus.WrapRegistererWith(prometheus.Labels{"node": fmt.Sprint(i)}, registry)
			limiter := overload.NewLimiter(overload.LimiterConfig{Store: NewLimits(client, func() int64 { return epoch }), Registry: nodeRegistry})
			nodes[i] = overload.NewFailureLimiter(overload.FailureLimiter{PerAddress: limiter.NewRule(overload.RuleConfig{Name: rule, Subject: "codes", Limit: maxWrong, Per: time.Hour, ClusterWide: true})})
		}
		tryConcurrently := func(n int, secret func(int) string, result error) (allowedCount int64) {
			var allowed atomic.Int64
			var attempts sync.WaitGroup
			for i := range n {
				attempts.Go(func() {
					_ = nodes[i%3].Try(context.Background(), overload.Attempt{Address: address, Secret: secret(i)}, func() error {
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
		if localOnly := countLocalDecisions(t, registry); n > maxWrong+2+localOnly || n < maxWrong-localOnly {
			t.Errorf("%d wrong attempts were allowed, want %d to %d, or up to %d more or fewer", n, maxWrong, maxWrong+2, localOnly)
		}
		err := nodes[3].Try(t.Context(), overload.Attempt{Address: address, Secret: right(0)}, func() error { return nil })
		if err != nil && countLocalDecisions(t, registry) == 0 {
			t.Errorf("at a node where the code was never used: %v", err)
		}
	})
}

// countLocalDecisions returns how often a node decided alone: Redis is slow on a busy machine.
func countLocalDecisions(t *testing.T, registry *prometheus.Registry) (n int64) {
	t.Helper()
	families := testenv.Need(registry.Gather())(t)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "laststand_limit_store_errors_total" {
				n += int64(metric.GetCounter().GetValue())
			}
		}
	}
	return n
}

// A secret is stored for a day.
func TestSecretsAreStoredForADay(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		store, key := NewLimits(client, func() int64 { return epoch }), ulid.Make().String()
		before, err := store.HasSecret(t.Context(), "codes", key, "s")
		testenv.NoError(t, errors.Join(err, store.AddSecret(t.Context(), "codes", key, "s")))
		after, err := store.HasSecret(t.Context(), "codes", key, "s")
		ttl := client.PTTL(t.Context(), secretKey("codes", key, "s")).Val()
		if err != nil || before || !after || ttl <= secretTTL-time.Minute || ttl > secretTTL {
			t.Errorf("stored before %v, after %v, for %v; %v", before, after, ttl, err)
		}
	})
}

// A node continues with its own bucket when Redis fails during an attempt.
func TestNodeDecidesAloneIfRedisFailsDuringAttempt(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	limiter := overload.NewFailureLimiter(overload.FailureLimiter{PerAddress: overload.NewLimiter(overload.LimiterConfig{Store: NewLimits(client, func() int64 { return epoch })}).
		NewRule(overload.RuleConfig{Name: "codes", Limit: 2, Per: time.Hour, ClusterWide: true})})
	tryWrongCode := func(during func()) error {
		return limiter.Try(context.Background(), overload.Attempt{Address: overload.ObjectKey("", "a"), Secret: "x"}, func() error {
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
