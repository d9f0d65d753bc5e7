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
	part := gamePartition(t.Game)
	args := append(queueArgs(t, take.Now, 5), take.Batch, take.Messages, take.Now+take.Lease, take.Lease+keepLateMS, take.Pool)
	values, err := takeScript.Run(ctx, s.client, part.batchKeys(t.Game, take.Batch), args...).Slice()
	if err == nil && len(values) < 2 {
		err = fmt.Errorf("a reply of %d elements", len(values))
	}
	if err != nil {
		return eventq.TakeResult{}, fmt.Errorf("redisqueue: take: %w", err)
	}
	reply := redisx.Reply(values)
	taken := eventq.TakeResult{Left: int(reply.Number(0)), Next: reply.Number(1)}
	if taken.Items, err = unpackBundles(reply[2:]); err != nil {
		return eventq.TakeResult{}, fmt.Errorf("redisqueue: take: %w", err)
	}
	return taken, nil
}

// Acquire implements eventq.Queue. A caller that waits for the returned time keeps
// its lease, because the script splits longer waits.
func (s *Store) Acquire(ctx context.Context, t eventq.Policy, r eventq.Renewal) (time.Duration, error) {
	args := append(queueArgs(t, r.Now, 5), r.Batch, r.Now+r.Lease, r.Lease+keepLateMS, r.Lease/2, r.LeaseOnly)
	wait, err := acquireScript.Run(ctx, s.client, gamePartition(t.Game).batchKeys(t.Game, r.Batch), args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("redisqueue: acquire: %w", err)
	}
	if wait < 0 {
		return 0, eventq.ErrNotInFlight
	}
	return time.Duration(wait) * time.Millisecond, nil
}
