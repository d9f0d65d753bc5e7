package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

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
