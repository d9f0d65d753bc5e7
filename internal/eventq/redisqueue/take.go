package redisqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

// Take implements eventq.Queue.
func (s *Store) Take(ctx context.Context, t eventq.Policy, take eventq.Take) (eventq.TakeResult, error) {
	part := gamePartition(t.Game)
	args := append(queueArgs(t, take.Now, 5), take.Batch, take.Messages, take.Now+take.Lease, take.Lease+keepLateMS, take.Pool)
	values, err := takeScript.Run(ctx, s.client, part.queueKeys(t.Game, part.batch(take.Batch)), args...).Slice()
	if err == nil && len(values) < 2 {
		err = fmt.Errorf("a reply of %d elements", len(values))
	}
	if err != nil {
		return eventq.TakeResult{}, wrapError("take", err)
	}
	reply := redisx.Reply(values)
	taken := eventq.TakeResult{Left: int(reply.Number(0)), Next: reply.Number(1)}
	if len(reply) > 2 {
		taken.Tried = triedOf(reply.Text(2))
	}
	for i := 2; i < len(reply); i++ {
		if taken.Items, err = appendBundle(taken.Items, reply.Text(i)); err != nil {
			return eventq.TakeResult{}, wrapError("take", err)
		}
	}
	return taken, nil
}

// Due implements eventq.Queue.
func (s *Store) Due(ctx context.Context, partition int, now int64, limit int) (games []string, next int64, err error) {
	values, err := dueScript.Run(ctx, s.client, []string{newPartition(partition).due()}, now, limit).Slice()
	if err != nil {
		return nil, 0, wrapError("due", err)
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
	if err := maintainScript.Run(ctx, s.client, gamePartition(t.Game).queueKeys(t.Game), args...).Err(); !errors.Is(err, redis.Nil) {
		return wrapError("maintain", err)
	}
	return nil
}
