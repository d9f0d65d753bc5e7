package redisqueue

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// maxDropped is how many items one script drops. While a script runs, Redis serves
// nothing else.
const maxDropped = 1000

// Peek implements eventq.Admin.
func (s *Store) Peek(ctx context.Context, game string, limit int) ([]eventq.Item, error) {
	bundles, err := s.client.LRange(ctx, gamePartition(game).queue(game), 0, int64(limit)-1).Result()
	var items []eventq.Item
	for i := 0; i < len(bundles) && len(items) < limit && err == nil; i++ {
		items, err = appendBundle(items, bundles[i])
	}
	if err != nil {
		return nil, fmt.Errorf("redisqueue: peek: %w", err)
	}
	return items[:min(len(items), limit)], nil
}

// Pause implements eventq.Admin. Without a reason it shows "paused".
func (s *Store) Pause(ctx context.Context, game, why string) error {
	return wrapError("pause", s.client.HSet(ctx, gamePartition(game).state(game), "paused", cmp.Or(why, "paused")).Err())
}

// Resume implements eventq.Admin. All queued items are then due.
func (s *Store) Resume(ctx context.Context, game string, now int64) error {
	if err := s.client.HDel(ctx, gamePartition(game).state(game), "paused").Err(); err != nil {
		return wrapError("resume", err)
	}
	return s.FlushNow(ctx, game, now)
}

// FlushNow implements eventq.Admin. All items that are queued now stay due, even
// if others are taken first. The next take finds out whether the queue can be taken from.
func (s *Store) FlushNow(ctx context.Context, game string, now int64) error {
	part := gamePartition(game)
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, part.state(game), "flush_before", now)
		p.ZAdd(ctx, part.due(), redis.Z{Member: game, Score: float64(now)})
		return nil
	})
	return wrapError("flush", err)
}

// SetMaxLen implements eventq.Admin. It drops items in steps. If it does not
// finish, the next pushes or the maintenance of the queue drop the rest.
func (s *Store) SetMaxLen(ctx context.Context, game string, maxLen int) error {
	state := gamePartition(game).state(game)
	if maxLen == 0 {
		return wrapError("set max len", s.client.HDel(ctx, state, "max_len").Err())
	}
	if err := s.client.HSet(ctx, state, "max_len", maxLen).Err(); err != nil {
		return wrapError("set max len", err)
	}
	_, err := s.drop(ctx, game, eventq.QueueFull, dropLimits{stay: maxLen})
	return err
}

// Discard implements eventq.Admin. If the client repeats a step, the result does not
// have the items that the step dropped at first. The counts have them.
func (s *Store) Discard(ctx context.Context, game string, r eventq.Reason) (dropped int64, err error) {
	return s.drop(ctx, game, r, dropLimits{})
}

// dropLimits say which of the oldest items to drop.
type dropLimits struct {
	stay     int   // the queue keeps so many, or the limit that an operator has set; 0: none
	queuedBy int64 // only items that were queued by then, epoch ms; 0: all
}

// shrink drops the oldest items above the limit.
func (s *Store) shrink(ctx context.Context, t eventq.Policy) error {
	_, err := s.drop(ctx, t.Game, eventq.QueueFull, dropLimits{stay: t.MaxLen})
	return err
}

// drop drops items in steps.
func (s *Store) drop(ctx context.Context, game string, r eventq.Reason, l dropLimits) (dropped int64, err error) {
	part := gamePartition(game)
	keys := []string{part.queue(game), part.state(game), part.seen(game)}
	for {
		n, err := dropScript.Run(ctx, s.client, keys, counter(r), maxDropped, l.stay, l.queuedBy).Int64()
		dropped += n
		if err != nil || n < maxDropped {
			return dropped, wrapError("drop", err)
		}
	}
}
