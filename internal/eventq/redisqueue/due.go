package redisqueue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/lua"
)

// reapMost bounds the batches of one Reap.
const reapMost = 100

// Due implements eventq.Queue.
func (s *Store) Due(ctx context.Context, partition int, now int64, limit int) (games []string, next int64, err error) {
	values, err := dueScript.Run(ctx, s.client, []string{newPartition(partition).due()}, now, limit).Slice()
	if err != nil {
		return nil, 0, fmt.Errorf("redisqueue: due: %w", err)
	}
	reply := lua.Reply(values)
	return reply.Texts(0), reply.Number(1), nil
}

// Keep implements eventq.Queue.
func (s *Store) Keep(ctx context.Context, t eventq.Terms, now int64) error {
	part := gamePartition(t.Game)
	args := append(termArgs(t, now, 3), longestCoolMS, apartMS, now-t.MaxAgeMS-eventq.AheadMS)
	return s.shrink(ctx, "keep", keepScript, part.of(t.Game), args...)
}

// Fault implements eventq.Queue.
func (s *Store) Fault(ctx context.Context, game, why string, now, until int64) error {
	part := gamePartition(game)
	return s.do(ctx, "note a fault", faultScript, []string{part.state(game), part.due()}, game, why, now, until)
}

// Reap implements eventq.Queue, some batches at a time.
func (s *Store) Reap(ctx context.Context, partition int, now int64) (items int64, err error) {
	part := newPartition(partition)
	ended, err := s.overdue(ctx, part, now)
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

// overdue are batches whose lease has ended, and those that have one which
// nobody gives.
func (s *Store) overdue(ctx context.Context, part partition, now int64) ([]string, error) {
	var ended, strange *redis.StringSliceCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		ended = p.ZRangeByScore(ctx, part.taken(), &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(now, 10), Count: reapMost})
		strange = p.ZRangeByScore(ctx, part.taken(), &redis.ZRangeBy{Min: strconv.FormatInt(now+longestLeaseMS+1, 10), Max: "+inf", Count: reapMost})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(ended.Val(), strange.Val()...), nil
}

// reapOne counts a batch as lost, unless its lease was renewed meanwhile.
func (s *Store) reapOne(ctx context.Context, part partition, member string, now int64) (items int64, err error) {
	batch, rest, _ := strings.Cut(member, " ")
	count, game, _ := strings.Cut(rest, " ")
	return lostScript.Run(ctx, s.client, part.of(game, part.taken(), part.batch(batch)), game, now, member, count, longestLeaseMS).Int64()
}
