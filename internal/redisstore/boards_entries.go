package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

var inspectScript = newScript("board_inspect")

// ReadEntries implements leaderboard.EntryStore. It reads the boards one after the other,
// not at one moment. If a board changes between the reads, a later Commit that expects the old
// version returns ErrStale.
func (s *Boards) ReadEntries(ctx context.Context, boardSet leaderboard.BoardSet, ids map[leaderboard.Board][]string) (map[leaderboard.EntryKey]leaderboard.BoardEntry, error) {
	replies := map[leaderboard.Board]*redis.SliceCmd{}
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for board, boardIDs := range ids {
			if len(boardIDs) > 0 {
				replies[board] = pipe.HMGet(ctx, keysFor(boardSet, board).entriesKey(), boardIDs...)
			}
		}
		return nil
	})
	entries := map[leaderboard.EntryKey]leaderboard.BoardEntry{}
	for board, reply := range replies {
		for i, value := range reply.Val() {
			if packed, exists := value.(string); exists && err == nil {
				id := ids[board][i]
				entries[leaderboard.EntryKey{Board: board, ID: id}], err = unpackEntry(id, packed)
			}
		}
	}
	return entries, wrap("read leaderboard entries", err)
}

// ReadMembers implements leaderboard.EntryStore.
func (s *Boards) ReadMembers(ctx context.Context, boardSet leaderboard.BoardSet, rankingID leaderboard.RankingID, from int64, limit int) ([]string, error) {
	ids, err := s.rdb.ZRange(ctx, keysFor(boardSet, rankingID.Board).rankingKey(rankingID.Order), from, from+int64(limit)-1).Result()
	for i, member := range ids {
		_, ids[i], _ = strings.Cut(member, ":")
	}
	return ids, wrap("read leaderboard members", err)
}

// Inspect implements leaderboard.EntryStore, for at most 1000 ids. It blocks Redis for a few
// microseconds per board, id and ranking.
func (s *Boards) Inspect(
	ctx context.Context, boardSet leaderboard.BoardSet, orders []leaderboard.Order, boards []leaderboard.Board, ids []string,
) (leaderboard.Inspection, error) {
	keys := []string{stateKey(boardSet)}
	for _, board := range boards {
		keys = append(keys, keysFor(boardSet, board).readKeys(orders)...)
	}
	values, err := inspectScript.Run(ctx, s.rdb, keys, appendTexts([]any{len(orders)}, ids)...).Slice()
	if redis.HasErrorPrefix(err, "STALE") {
		return leaderboard.Inspection{}, leaderboard.ErrStale
	}
	if err != nil {
		return leaderboard.Inspection{}, fmt.Errorf("inspect leaderboards: %w", err)
	}
	reply := redisx.Reply(values)
	inspection := leaderboard.Inspection{Sizes: map[leaderboard.SizeKey]int64{}, Entries: map[leaderboard.EntryKey]leaderboard.InspectedEntry{}}
	inspection.Progress, err = parseProgress(reply.Text(0))
	for i := 0; i < len(boards) && err == nil; i++ {
		err = addInspected(inspection, boards[i], reply.List(1+i), orders, ids)
	}
	return inspection, err
}

// addInspected adds what board_inspect.lua returned for one board.
func addInspected(inspection leaderboard.Inspection, board leaderboard.Board, reply redisx.Reply, orders []leaderboard.Order, ids []string) error {
	inspection.Sizes[leaderboard.SizeKey{Board: board}] = reply.Number(0)
	for i, order := range orders {
		inspection.Sizes[leaderboard.SizeKey{Board: board, Order: order}] = reply.Number(2 + 2*i)
	}
	for i, id := range ids {
		packed := reply.List(1).Text(i)
		if packed == "" {
			continue
		}
		entry, err := unpackEntry(id, packed)
		inspected := leaderboard.InspectedEntry{BoardEntry: entry, Keys: map[leaderboard.Order]float64{}}
		for j, order := range orders {
			if key := reply.List(3 + 2*j).Text(i); err == nil && key != "" {
				inspected.Keys[order], err = parseKey(key)
			}
		}
		if err != nil {
			return err
		}
		inspection.Entries[leaderboard.EntryKey{Board: board, ID: id}] = inspected
	}
	return nil
}
