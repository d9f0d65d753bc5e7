package redisqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

// maxReaped bounds the batches of one Reap.
const maxReaped = 100

// Due implements eventq.Queue.
func (s *Store) Due(ctx context.Context, partition int, now int64, limit int) (games []string, next int64, err error) {
	values, err := dueScript.Run(ctx, s.client, []string{newPartition(partition).due()}, now, limit).Slice()
	if err != nil {
		return nil, 0, fmt.Errorf("redisqueue: due: %w", err)
	}
	reply := redisx.Reply(values)
	return reply.Texts(0), reply.Number(1), nil
}

// Maintain implements eventq.Queue.
func (s *Store) Maintain(ctx context.Context, t eventq.Policy, now int64) error {
	if _, err := s.drop(ctx, t.Game, eventq.TooOld, dropLimits{queuedBy: now - t.MaxAgeMS - eventq.MaxAheadMS}); err != nil {
		return err
	}
	if err := s.shrink(ctx, t); err != nil {
		return err
	}
	args := append(queueArgs(t, now, 2), longestCoolMS, clockSkewMS)
	return s.run(ctx, "maintain", maintainScript, gamePartition(t.Game).queueKeys(t.Game), args...)
}

// Reap implements eventq.Queue. One call reaps a bounded number of batches.
func (s *Store) Reap(ctx context.Context, partition int, now int64) (items int64, err error) {
	part := newPartition(partition)
	ended, err := s.endedLeases(ctx, part, now)
	if err != nil {
		return 0, fmt.Errorf("redisqueue: reap: %w", err)
	}
	for _, member := range ended {
		lost, err := s.reapOne(ctx, part, member, now)
		if err != nil {
			return items, fmt.Errorf("redisqueue: reap: %w", err)
		}
		items += lost
	}
	return items, nil
}

// endedLeases returns the batches whose lease has ended, and those with an
// impossibly long lease.
func (s *Store) endedLeases(ctx context.Context, part partition, now int64) ([]string, error) {
	var ended, unplausible *redis.StringSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		ended = p.ZRangeByScore(ctx, part.taken(), &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now, 10), Count: maxReaped})
		unplausible = p.ZRangeByScore(ctx, part.taken(), &redis.ZRangeBy{Min: strconv.FormatInt(now+longestLeaseMS+1, 10), Max: "+inf", Count: maxReaped})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(ended.Val(), unplausible.Val()...), nil
}

// reapOne counts a batch as lost, unless its lease was renewed in between.
func (s *Store) reapOne(ctx context.Context, part partition, member string, now int64) (items int64, err error) {
	batch, rest, _ := strings.Cut(member, " ")
	count, game, _ := strings.Cut(rest, " ")
	keys := []string{part.state(game), part.taken(), part.batch(batch)}
	return reapScript.Run(ctx, s.client, keys, now, member, count, longestLeaseMS).Int64()
}
