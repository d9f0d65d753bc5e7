// Package redislimit keeps in Redis the buckets of limits that hold over all
// nodes. It implements limit.Shared.
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

// New makes a store. Now is cluster time, epoch ms.
func New(client redis.UniversalClient, now func() int64) *Store {
	return &Store{client: client, now: now}
}

// key is that of a bucket. All of it is the hash tag, so that buckets spread
// over a cluster.
func key(rule, of string) string { return "limit:{" + rule + "/" + of + "}" }

// Take implements limit.Shared. A bucket leaves Redis when it is full again.
func (s *Store) Take(ctx context.Context, d limit.Demand) (time.Duration, error) {
	wait, err := takeScript.Run(ctx, s.client, []string{key(d.Rule, d.Key)},
		s.now()*1000, d.Interval.Microseconds(), d.Burst, d.Cost, string(d.Mode)).Int64()
	if err != nil {
		return 0, fmt.Errorf("redislimit: take: %w", err)
	}
	return time.Duration(wait) * time.Microsecond, nil
}
