// Package redislimit keeps the buckets of cluster-wide limits in Redis. It implements
// limit.Store. Each operation is one Lua script, so that it is atomic. Start reading at
// Store.Take and take.lua. The package must not know which rules exist.
package redislimit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/limit"
)

var (
	//go:embed take.lua
	takeSource string

	takeScript = redis.NewScript(takeSource)
)

// Store is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	now    func() int64
}

// New makes a store; now is cluster time, epoch ms.
func New(client redis.UniversalClient, now func() int64) *Store {
	return &Store{client: client, now: now}
}

// key returns the key of a bucket. All of it is the hash tag, so that buckets spread
// over a cluster.
func key(rule, name string) string { return "limit:{" + rule + "/" + name + "}" }

// Take implements limit.Store. A bucket leaves Redis when it is full again.
func (s *Store) Take(ctx context.Context, d limit.Demand) (time.Duration, error) {
	wait, err := takeScript.Run(ctx, s.client, []string{key(d.Rule, d.Key)},
		s.now()*1000, d.Interval.Microseconds(), d.Burst, d.Cost, string(d.Mode)).Int64()
	if err != nil {
		return 0, fmt.Errorf("redislimit: take: %w", err)
	}
	return time.Duration(wait) * time.Microsecond, nil
}
