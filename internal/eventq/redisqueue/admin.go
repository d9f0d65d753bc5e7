package redisqueue

import (
	"cmp"
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// maxDropped is how many items one script drops at most, see shift.lua.
const maxDropped = 1000

// Peek implements eventq.Admin.
func (s *Store) Peek(ctx context.Context, game string, limit int) ([]eventq.Item, error) {
	bundles, err := peekScript.Run(ctx, s.client, []string{gamePartition(game).queue(game)}, limit).Slice()
	if err != nil {
		return nil, fmt.Errorf("redisqueue: peek: %w", err)
	}
	items, err := unpackBundles(bundles, limit)
	if err != nil {
		return nil, fmt.Errorf("redisqueue: peek: %w", err)
	}
	return items, nil
}

// Pause implements eventq.Admin. Without a reason it shows "paused".
func (s *Store) Pause(ctx context.Context, game, why string) error {
	part := gamePartition(game)
	return s.run(ctx, "pause", pauseScript, []string{part.state(game), part.due()}, game, cmp.Or(why, "paused"))
}

// Resume implements eventq.Admin. All queued items are then due.
func (s *Store) Resume(ctx context.Context, game string, now int64) error {
	return s.run(ctx, "resume", resumeScript, gamePartition(game).keysOf(game), game, now)
}

// FlushNow implements eventq.Admin. All items that are queued now stay due, even
// if others are taken first.
func (s *Store) FlushNow(ctx context.Context, game string, now int64) error {
	return s.run(ctx, "flush now", flushNowScript, gamePartition(game).keysOf(game), game, now)
}

// SetMaxLen implements eventq.Admin. It drops items in steps. If it does not
// finish, the next pushes or the maintenance of the queue drop the rest.
func (s *Store) SetMaxLen(ctx context.Context, game string, maxLen int) error {
	return s.runUntilShort(ctx, "bound", setMaxLenScript, gamePartition(game).keysOf(game), game, 0, maxLen)
}

// runUntilShort runs a script until the queue is within its limit.
func (s *Store) runUntilShort(ctx context.Context, operation string, sc *redis.Script, keys []string, args ...any) error {
	for beyond := int64(1); beyond > 0; {
		var err error
		if beyond, err = sc.Run(ctx, s.client, keys, args...).Int64(); err != nil {
			return fmt.Errorf("redisqueue: %s: %w", operation, err)
		}
	}
	return nil
}

// Discard implements eventq.Admin. It drops items in steps.
func (s *Store) Discard(ctx context.Context, game string, most int, r eventq.Reason) (dropped int64, err error) {
	part := gamePartition(game)
	for left := most; left > 0; {
		now := min(left, maxDropped)
		once := part.reply(ulid.Make().String())
		n, err := discardScript.Run(ctx, s.client, part.keysOf(game, once), game, 0, now, counter(r), repeatMS).Int64()
		dropped += n
		if err != nil {
			return dropped, fmt.Errorf("redisqueue: discard: %w", err)
		}
		if int(n) < now {
			break
		}
		left -= now
	}
	return dropped, nil
}
