package redisqueue

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// Heartbeat implements eventq.Nodes. A heartbeat far ahead of now comes from a
// clock that was set back later. It is removed: otherwise a dead node would count
// as alive until that time.
func (s *Store) Heartbeat(ctx context.Context, node string, now int64) ([]string, error) {
	var alive *redis.StringSliceCmd
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, nodesKey, redis.Z{Member: node, Score: float64(now)})
		p.ZRemRangeByScore(ctx, nodesKey, "-inf", fmt.Sprint("(", now-eventq.NodeTTLMS))
		p.ZRemRangeByScore(ctx, nodesKey, fmt.Sprint("(", now+clockSkewMS), "+inf")
		alive = p.ZRange(ctx, nodesKey, 0, -1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redisqueue: heartbeat: %w", err)
	}
	return slices.Sorted(slices.Values(alive.Val())), nil
}

// Leave implements eventq.Nodes.
func (s *Store) Leave(ctx context.Context, node string) error {
	return wrapError("leave", s.client.ZRem(ctx, nodesKey, node).Err())
}
