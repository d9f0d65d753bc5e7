package redisboard

import (
	"context"
	"fmt"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed inspect.lua
var inspectLua string

var inspectScript = script(inspectLua)

// Inspect implements leaderboard.Boards, of at most 1000 ids a board. It
// stalls Redis for some microseconds for each id and ranking.
func (s *Store) Inspect(
	ctx context.Context, g leaderboard.Generation, rankings []leaderboard.Order, wants []leaderboard.Want,
) (leaderboard.Inspection, error) {
	keys := []string{stateKey(g)}
	args := []any{len(rankings)}
	for _, w := range wants {
		board := keysOf(g, w.Board)
		keys = append(keys, board.parts())
		for _, o := range rankings {
			keys = append(keys, board.by(o))
		}
		args = append(args, len(w.IDs))
		args = appendAll(args, w.IDs)
	}
	values, err := inspectScript.Run(ctx, s.rdb, keys, args...).Slice()
	if redis.HasErrorPrefix(err, "STALE") {
		return leaderboard.Inspection{}, leaderboard.ErrStale
	}
	if err != nil {
		return leaderboard.Inspection{}, fmt.Errorf("inspect leaderboards: %w", err)
	}
	r := newReply(values)
	inspection := leaderboard.Inspection{Progress: r.inner().progress()}
	for _, w := range wants {
		inspection.Boards = append(inspection.Boards, r.inner().inspected(rankings, w.IDs))
	}
	return inspection, r.err()
}

// inspected reads what inspect.lua read of one board.
func (r *reply) inspected(rankings []leaderboard.Order, ids []string) leaderboard.Inspected {
	board := leaderboard.Inspected{Ranked: map[leaderboard.Order]int64{}}
	board.Entries = r.number()
	parts := r.listOf(len(ids))
	keys := map[leaderboard.Order][]any{}
	for _, o := range rankings {
		board.Ranked[o], keys[o] = r.number(), r.listOf(len(ids))
	}
	for i, id := range ids {
		packed, there := parts[i].(string)
		if !there {
			continue
		}
		ranked := map[leaderboard.Order]float64{}
		for o, all := range keys {
			if text, has := all[i].(string); has {
				ranked[o] = r.parseKey(text)
			}
		}
		board.Held = append(board.Held, r.held(id, packed))
		board.Keys = append(board.Keys, ranked)
	}
	return board
}
