package redismatch

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// Placed implements match.Store. A page is at most 500 players, whatever the
// limit.
func (s *Store) Placed(ctx context.Context, id string, from, limit int) ([]match.Placed, error) {
	limit = min(limit, maxAsked)
	if limit <= 0 {
		return nil, nil
	}
	page, err := s.placed(ctx, keysOf(id), from, from+limit-1)
	if err != nil {
		return nil, fmt.Errorf("redismatch: placed of %s: %w", id, err)
	}
	return page, nil
}

func (s *Store) placed(ctx context.Context, k keys, from, to int) ([]match.Placed, error) {
	players, err := s.client.ZRevRange(ctx, k.rank(), int64(from), int64(to)).Result()
	if err != nil || len(players) == 0 {
		return nil, err
	}
	var found, sums, left *redis.SliceCmd
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		found = p.HMGet(ctx, k.seats(), players...)
		sums, left = p.HMGet(ctx, k.totals(), players...), p.HMGet(ctx, k.totals(), leftFields(players)...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	seats, totals, gone := lua.Reply(found.Val()), lua.Reply(sums.Val()), lua.Reply(left.Val())
	page := make([]match.Placed, len(players))
	for i := range players {
		if page[i].Seat, err = seatOf(seats.Text(i)); err != nil {
			return nil, unreadable(err)
		}
		page[i].Totals = totalsOf(totals.Text(i), gone.Text(i))
	}
	return page, nil
}
