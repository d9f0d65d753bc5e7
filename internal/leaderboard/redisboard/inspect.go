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

// Inspect implements leaderboard.EntryStore, for at most 1000 ids per board. It blocks Redis
// for a few microseconds per id and ranking.
func (s *Store) Inspect(
	ctx context.Context, g leaderboard.Generation, rankings []leaderboard.Order, wants []leaderboard.EntryRequest,
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
		args = appendTexts(args, w.IDs)
	}
	values, err := inspectScript.Run(ctx, s.rdb, keys, args...).Slice()
	if redis.HasErrorPrefix(err, "STALE") {
		return leaderboard.Inspection{}, leaderboard.ErrStale
	}
	if err != nil {
		return leaderboard.Inspection{}, fmt.Errorf("inspect leaderboards: %w", err)
	}
	r := newReply(values)
	inspection := leaderboard.Inspection{Progress: r.subReply().progress()}
	for _, w := range wants {
		inspection.Boards = append(inspection.Boards, r.subReply().board(rankings, w.IDs))
	}
	return inspection, r.err()
}

// board parses what inspect.lua returned for one board.
func (r *reply) board(rankings []leaderboard.Order, ids []string) leaderboard.Inspected {
	board := leaderboard.Inspected{Ranked: map[leaderboard.Order]int64{}}
	board.Size = r.number()
	parts := r.listOf(len(ids))
	keys := map[leaderboard.Order][]any{}
	for _, o := range rankings {
		board.Ranked[o], keys[o] = r.number(), r.listOf(len(ids))
	}
	for i, id := range ids {
		packed, exists := parts[i].(string)
		if !exists {
			continue
		}
		ranked := map[leaderboard.Order]float64{}
		for o, all := range keys {
			if text, exists := all[i].(string); exists {
				ranked[o] = r.parseKey(text)
			}
		}
		board.Found = append(board.Found, r.entry(id, packed))
		board.Keys = append(board.Keys, ranked)
	}
	return board
}
