package redisqueue

import (
	"context"
	"fmt"

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
		return eventq.TakeResult{}, fmt.Errorf("redisqueue: take: %w", err)
	}
	reply := redisx.Reply(values)
	taken := eventq.TakeResult{Left: int(reply.Number(0)), Next: reply.Number(1)}
	if len(reply) > 2 {
		taken.Tried = triedOf(reply.Text(2))
	}
	if taken.Items, err = unpackBundles(reply[2:]); err != nil {
		return eventq.TakeResult{}, fmt.Errorf("redisqueue: take: %w", err)
	}
	return taken, nil
}
