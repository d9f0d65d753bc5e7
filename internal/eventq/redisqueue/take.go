package redisqueue

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

// Take implements eventq.Queue.
func (s *Store) Take(ctx context.Context, t eventq.Policy, take eventq.Take) (eventq.TakeResult, error) {
	args := append(policyArgs(t, take.Now, 3+len(take.Batches)), take.Now+take.Lease, take.Lease+keepLateMS, take.Pool)
	part := gamePartition(t.Game)
	keys := part.keysOf(t.Game, part.taken())
	for _, batch := range take.Batches {
		args, keys = append(args, batch), append(keys, part.batch(batch))
	}
	values, err := takeScript.Run(ctx, s.client, keys, args...).Slice()
	if err == nil && len(values) < 2 {
		err = fmt.Errorf("a reply of %d elements", len(values))
	}
	if err != nil {
		return eventq.TakeResult{}, fmt.Errorf("redisqueue: take: %w", err)
	}
	reply := redisx.Reply(values)
	taken := eventq.TakeResult{Left: int(reply.Number(0)), Next: reply.Number(1)}
	if taken.Items, err = unpackBundles(reply[2:], len(take.Batches)*t.BatchSize); err != nil {
		return eventq.TakeResult{}, fmt.Errorf("redisqueue: take: %w", err)
	}
	return taken, nil
}

// Acquire implements eventq.Queue. A caller that waits for the returned time keeps
// its lease, because the script splits longer waits.
func (s *Store) Acquire(ctx context.Context, t eventq.Policy, r eventq.Renewal) (time.Duration, error) {
	args := append(policyArgs(t, r.Now, 5), r.Batch, r.Now+r.Lease, r.Lease+keepLateMS, r.Lease/2, r.LeaseOnly)
	part := gamePartition(t.Game)
	keys := part.keysOf(t.Game, part.taken(), part.batch(r.Batch))
	wait, err := acquireScript.Run(ctx, s.client, keys, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("redisqueue: permit: %w", err)
	}
	if wait < 0 {
		return 0, eventq.ErrNotInFlight
	}
	return time.Duration(wait) * time.Millisecond, nil
}
