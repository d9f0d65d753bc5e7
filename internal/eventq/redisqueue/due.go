package redisqueue

import (
	"context"
	"fmt"

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
	args := append(queueArgs(t, now, 3), longestCoolMS, longestLeaseMS, clockSkewMS)
	return s.run(ctx, "maintain", maintainScript, gamePartition(t.Game).queueKeys(t.Game), args...)
}
