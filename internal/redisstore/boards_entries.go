package redisstore

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

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
func (s *Boards) ReadMembers(ctx context.Context, boardSet leaderboard.BoardSet, rankingID leaderboard.RankingID, from int64, limit int) ([]string, error) {
	ids, err := s.rdb.ZRange(ctx, keysFor(boardSet, rankingID.Board).rankingKey(rankingID.Order), from, from+int64(limit)-1).Result()
	for i, member := range ids {
		_, ids[i], _ = strings.Cut(member, ":")
	}
	return ids, wrap("read leaderboard members", err)
}
