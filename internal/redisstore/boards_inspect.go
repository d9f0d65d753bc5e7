package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
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
	reply := redisx.Reply(values)
	inspection := leaderboard.Inspection{Boards: make([]leaderboard.InspectedBoard, len(requests))}
	inspection.Progress, err = parseProgress(reply.Text(0))
	for i := 0; i < len(requests) && err == nil; i++ {
		inspection.Boards[i], err = parseBoard(reply.List(1+i), orders, requests[i].IDs)
	}
	return inspection, err
}

// parseBoard parses what board_inspect.lua returned for one board.
func parseBoard(reply redisx.Reply, orders []leaderboard.Order, ids []string) (leaderboard.InspectedBoard, error) {
	board := leaderboard.InspectedBoard{BoardSize: reply.Number(0), RankedCounts: map[leaderboard.Order]int64{}}
	for i, order := range orders {
		board.RankedCounts[order] = reply.Number(2 + 2*i)
	}
	for i, id := range ids {
		packed := reply.List(1).Text(i)
		if packed == "" {
			continue
		}
		unpacked, err := unpackEntry(id, packed)
		entry := leaderboard.InspectedEntry{BoardEntry: unpacked, Keys: map[leaderboard.Order]float64{}}
		for j, order := range orders {
			if key := reply.List(3 + 2*j).Text(i); err == nil && key != "" {
				entry.Keys[order], err = parseKey(key)
			}
		}
		if err != nil {
			return board, err
		}
		board.Entries = append(board.Entries, entry)
	}
	return board, nil
}
