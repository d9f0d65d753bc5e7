package redismatch

import (
	"context"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// RankedPlayers returns players of an arena by rank, see match.StateStore. A page has at
// most 500 players, even if the limit is higher.
func (m *Matches) RankedPlayers(ctx context.Context, id string, from, limit int) ([]match.RankedPlayer, error) {
	limit = min(limit, maxPlayersPerRead)
	if limit <= 0 {
		return nil, nil
	}
	k := newKeys(id)
	players, err := m.client.ZRevRange(ctx, k.rank(), int64(from), int64(from+limit-1)).Result()
	if err != nil {
		return nil, wrap("ranked players of", id, err)
	}
	if len(players) == 0 {
		return nil, nil
	}
	var seatsReply, totalsReply, leftReply *redis.SliceCmd
	_, err = m.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		seatsReply = pipe.HMGet(ctx, k.seats(), players...)
		totalsReply, leftReply = pipe.HMGet(ctx, k.totals(), players...), pipe.HMGet(ctx, k.totals(), leftFields(players)...)
		return nil
	})
	if err != nil {
		return nil, wrap("ranked players of", id, err)
	}
	seats, totals, lefts := redisx.Reply(seatsReply.Val()), redisx.Reply(totalsReply.Val()), redisx.Reply(leftReply.Val())
	page := make([]match.RankedPlayer, len(players))
	for i := range players {
		if page[i].Seat, err = decodeSeat(seats.Text(i)); err != nil {
			return nil, wrap("ranked players of", id, asUnreadable(err))
		}
		page[i].Totals = decodeTotals(totals.Text(i), lefts.Text(i))
	}
	return page, nil
}
