package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/limit"
)

// Limits stores buckets, reservations and known secrets in Redis. It is safe for concurrent
// use.
type Limits struct {
	client redis.UniversalClient
	now    func() int64
}

// NewLimits returns a store; now returns the cluster time in epoch ms.
func NewLimits(client redis.UniversalClient, now func() int64) *Limits {
	return &Limits{client: client, now: now}
}

// bucketKey returns the Redis key of a bucket. The braces make rule and name the hash tag,
// so that the buckets are spread over a Redis cluster.
func bucketKey(rule, name string) string { return "limit:{" + rule + "/" + name + "}" }

// Take applies a demand. It returns 0, or how long until the tokens are available; for
// limit.Charge, how long until the next token. Redis deletes a bucket when it is full.
func (s *Limits) Take(ctx context.Context, demand limit.SharedDemand) (time.Duration, error) {
	wait, err := takeTokensScript.Run(ctx, s.client, []string{bucketKey(demand.Rule, demand.Key)},
		s.now()*1000, demand.Interval.Microseconds(), demand.Burst, demand.Cost, string(demand.Mode)).Int64()
	if err != nil {
		return 0, fmt.Errorf("redisstore: take tokens: %w", err)
	}
	return time.Duration(wait) * time.Microsecond, nil
}
