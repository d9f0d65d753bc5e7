package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

var membersScript = newScript("board_members")

// ReadEntries implements leaderboard.EntryStore. It reads the boards one after the other,
// not at one moment. If a board changes between the reads, a later Commit that expects the old
// version returns ErrStale.
func (s *Boards) ReadEntries(ctx context.Context, boardSet leaderboard.BoardSet, requests []leaderboard.EntryRequest) ([]leaderboard.EntryResult, error) {
	pipe := s.rdb.Pipeline()
	packed, sizes := make([]*redis.SliceCmd, len(requests)), make([]*redis.IntCmd, len(requests))
	for i, request := range requests {
		packed[i], sizes[i] = &redis.SliceCmd{}, &redis.IntCmd{}
		if key := keysFor(boardSet, request.Board).entriesKey(); len(request.IDs) > 0 {
			packed[i] = pipe.HMGet(ctx, key, request.IDs...)
		} else {
			sizes[i] = pipe.HLen(ctx, key)
		}
	}
	_, err := pipe.Exec(ctx)
	results := make([]leaderboard.EntryResult, len(requests))
	for i := 0; i < len(requests) && err == nil; i++ {
		results[i].BoardSize = sizes[i].Val()
		results[i].Found, err = unpackEntries(requests[i].IDs, packed[i].Val())
	}
	return results, wrap("read leaderboard entries", err)
}

// ReadMembers implements leaderboard.EntryStore.
func (s *Boards) ReadMembers(ctx context.Context, boardSet leaderboard.BoardSet, rankingID leaderboard.RankingID, from int64, limit int) ([]leaderboard.BoardEntry, error) {
	keys := keysFor(boardSet, rankingID.Board)
	values, err := membersScript.Run(ctx, s.rdb, []string{keys.rankingKey(rankingID.Order), keys.entriesKey()}, from, from+int64(limit)-1).Slice()
	if err != nil {
		return nil, wrap("read leaderboard entries", err)
	}
	reply := newReply(values)
	var entries []leaderboard.BoardEntry
	for len(reply.values) > 0 && reply.err() == nil {
		if id, packed := reply.text(), reply.text(); packed != "" {
			entries = append(entries, reply.entry(id, packed))
		}
	}
	return entries, reply.err()
}
