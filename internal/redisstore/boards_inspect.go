package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

var inspectScript = newScript("board_inspect")

// Inspect implements leaderboard.EntryStore, for at most 1000 ids per board. It blocks Redis
// for a few microseconds per id and ranking.
func (s *Boards) Inspect(
	ctx context.Context, boardSet leaderboard.BoardSet, orders []leaderboard.Order, requests []leaderboard.EntryRequest,
) (leaderboard.Inspection, error) {
	keys := []string{stateKey(boardSet)}
	args := []any{len(orders)}
	for _, request := range requests {
		board := keysFor(boardSet, request.Board)
		keys = append(keys, board.entriesKey())
		for _, order := range orders {
			keys = append(keys, board.rankingKey(order))
		}
		args = append(args, len(request.IDs))
		args = appendTexts(args, request.IDs)
	}
	values, err := inspectScript.Run(ctx, s.rdb, keys, args...).Slice()
	if redis.HasErrorPrefix(err, "STALE") {
		return leaderboard.Inspection{}, leaderboard.ErrStale
	}
	if err != nil {
		return leaderboard.Inspection{}, fmt.Errorf("inspect leaderboards: %w", err)
	}
	reply := newReply(values)
	inspection := leaderboard.Inspection{Progress: reply.progress()}
	for _, request := range requests {
		inspection.Boards = append(inspection.Boards, reply.subReply().board(orders, request.IDs))
	}
	return inspection, reply.err()
}

// board parses what board_inspect.lua returned for one board.
func (r *reply) board(orders []leaderboard.Order, ids []string) leaderboard.InspectedBoard {
	board := leaderboard.InspectedBoard{BoardSize: r.number(), RankedCounts: map[leaderboard.Order]int64{}}
	packedEntries := r.listWithLength(len(ids))
	keys := map[leaderboard.Order][]any{}
	for _, order := range orders {
		board.RankedCounts[order], keys[order] = r.number(), r.listWithLength(len(ids))
	}
	for i, id := range ids {
		packed, exists := packedEntries[i].(string)
		if !exists {
			continue
		}
		entry := leaderboard.InspectedEntry{BoardEntry: r.entry(id, packed), Keys: map[leaderboard.Order]float64{}}
		for order, orderKeys := range keys {
			if text, exists := orderKeys[i].(string); exists {
				entry.Keys[order] = r.parseKey(text)
			}
		}
		board.Entries = append(board.Entries, entry)
	}
	return board
}
