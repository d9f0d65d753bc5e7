package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/overload"
)

// secretTTL is how long a known secret is stored after it was added.
const secretTTL = 24 * time.Hour

// Limits stores buckets and known secrets in Redis. It is safe for concurrent use.
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

// secretKey returns the Redis key of a known secret.
func secretKey(rule, name, secret string) string { return bucketKey(rule, name) + ":known:" + secret }

// Take applies a demand. It returns 0, or how long until the tokens are available; for
// overload.Charge, how long until the next token. Redis deletes a bucket when it is full.
func (s *Limits) Take(ctx context.Context, demand overload.SharedDemand) (time.Duration, error) {
	wait, err := takeTokensScript.Run(ctx, s.client, []string{bucketKey(demand.Rule, demand.Key)},
		s.now()*1000, demand.Interval.Microseconds(), demand.Burst, demand.Cost, string(demand.Mode)).Int64()
	return time.Duration(wait) * time.Microsecond, wrap("take tokens", err)
}

// AddSecret stores for secretTTL that a secret is right for a key of a rule.
func (s *Limits) AddSecret(ctx context.Context, rule, key, secret string) error {
	return wrap("add secret", s.client.Set(ctx, secretKey(rule, key, secret), 1, secretTTL).Err())
}

// HasSecret returns true if a secret is stored for a key of a rule.
func (s *Limits) HasSecret(ctx context.Context, rule, key, secret string) (bool, error) {
	count, err := s.client.Exists(ctx, secretKey(rule, key, secret)).Result()
	return count > 0, wrap("read secret", err)
}
