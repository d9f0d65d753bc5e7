package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

// Take implements eventq.Queue.
func (s *Store) Take(ctx context.Context, t eventq.Policy, take eventq.Take) (eventq.TakeResult, error) {
	part := gamePartition(t.Game)
	args := append(queueArgs(t, take.Now, 4), take.Batch, take.Messages, take.Now+take.Lease, take.Lease+keepLateMS)
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

// Finish implements eventq.Queue. A call that is repeated within keepLateMS changes
// nothing. Requeued items may exceed the limit, as in Push.
func (s *Store) Finish(ctx context.Context, t eventq.Policy, r eventq.BatchResult) error {
	var counters []any
	for _, reason := range eventq.Reasons() {
		if n := r.Dropped[reason]; n > 0 {
			counters = append(counters, counter(reason), n)
		}
	}
	bundles := bundlesOf(r.Requeue)
	slices.Reverse(bundles) // the script prepends each, so the first must come last
	if len(r.Retry) > 0 {
		bundles = append(bundles, bundleOf(r.Retry, r.Tried))
	}
	args := append(queueArgs(t, r.Now, 9+len(counters)+len(r.ForgetIDs)+len(bundles)),
		r.Batch, r.Sent, r.Unused, queueTTL(t), r.Error, r.Pause, r.CoolUntil, len(counters)/2, len(r.ForgetIDs))
	args = append(args, counters...)
	for _, id := range r.ForgetIDs {
		args = append(args, id)
	}
	args = append(args, bundles...)

	part := gamePartition(t.Game)
	keys := part.queueKeys(t.Game, part.batch(r.Batch), part.seen(t.Game))
	notInFlight, err := finishScript.Run(ctx, s.client, keys, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("redisqueue: finish: %w", err)
	}
	if notInFlight != nil {
		return eventq.ErrNotInFlight
	}
	if len(r.Retry)+len(r.Requeue) > 0 {
		_ = s.shrink(ctx, t)
	}
	return nil
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
