package redisqueue

import (
	"context"
	"fmt"
	"strings"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

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

// Reap implements eventq.Queue.
func (s *Store) Reap(ctx context.Context, partition int, now int64) (items int64, err error) {
	part := newPartition(partition)
	taken, err := s.client.ZRangeWithScores(ctx, part.taken(), 0, -1).Result()
	for _, z := range taken {
		if leaseEnd := int64(z.Score); leaseEnd > now && leaseEnd <= now+longestLeaseMS {
			continue
		}
		member, _ := z.Member.(string)
		lost, err := s.reapOne(ctx, part, member, now)
		items += lost
		if err != nil {
			return items, wrapError("reap", err)
		}
	}
	return items, wrapError("reap", err)
}

// reapOne counts a batch as lost, unless it has been finished in between.
func (s *Store) reapOne(ctx context.Context, part partition, member string, now int64) (items int64, err error) {
	batch, rest, _ := strings.Cut(member, " ")
	count, game, _ := strings.Cut(rest, " ")
	keys := []string{part.state(game), part.taken(), part.batch(batch)}
	return reapScript.Run(ctx, s.client, keys, now, member, count, longestLeaseMS).Int64()
}
