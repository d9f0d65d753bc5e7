package redisqueue

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"laststand/internal/eventq"
)

// Push implements eventq.Queue. If the queue is then above its limit, another
// script drops the oldest items. If that fails, the next push or the maintenance
// drops them.
func (s *Store) Push(ctx context.Context, t eventq.Policy, p eventq.Push) (eventq.PushResult, error) {
	part := gamePartition(t.Game)
	bundles, repeat := bundlesOf(p.Items), repeatMS
	if p.From != "" {
		repeat = lastPushMS
	}
	args := queueArgs(t, p.Now, 9+2*len(p.Refused)+len(p.Items)+len(bundles))
	args = append(args, queueTTL(t), repeat, eventq.DedupeWindowMS, s.maxSeen, string(overflow(t, p.Posted)), p.ID, len(p.Items), len(p.Refused))
	ids := uniqueIDs(p.Items)
	args = append(args, len(ids))
	for reason, n := range p.Refused {
		args = append(args, counter(reason), n)
	}
	args = append(append(args, ids...), bundles...)
	keys := part.queueKeys(t.Game, part.seen(t.Game), part.lastPushes(cmp.Or(p.From, p.ID)))
	verdict, err := pushScript.Run(ctx, s.client, keys, args...).Text()
	if err != nil {
		return eventq.PushResult{}, fmt.Errorf("redisqueue: push: %w", err)
	}
	if verdict == "full" {
		return eventq.PushResult{}, eventq.ErrFull
	}
	var queued, length, limit int
	var full, duplicate int64
	if _, err := fmt.Sscan(verdict, &queued, &full, &duplicate, &length, &limit); err != nil {
		return eventq.PushResult{}, fmt.Errorf("redisqueue: push: its verdict: %w", err)
	}
	if length > limit {
		_ = s.shrink(ctx, t)
	}
	dropped := map[eventq.Reason]int64{eventq.QueueFull: full, eventq.Duplicate: duplicate}
	maps.DeleteFunc(dropped, func(_ eventq.Reason, n int64) bool { return n == 0 })
	return eventq.PushResult{Queued: queued, Dropped: dropped, Length: min(length, limit)}, nil
}

func uniqueIDs(items []eventq.Item) (ids []any) {
	for i := range items {
		if items[i].Unique {
			ids = append(ids, items[i].ID)
		}
	}
	return ids
}

// overflow returns what a full queue does with a push. It refuses only posts.
func overflow(t eventq.Policy, posted bool) eventq.Overflow {
	if t.Overflow == eventq.Reject && !posted {
		return eventq.DropNewest
	}
	return t.Overflow
}
