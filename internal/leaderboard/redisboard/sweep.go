package redisboard

import (
	"context"
	"fmt"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed retire.lua
var retireLua string

var retireScript = script(retireLua)

// Sweep implements leaderboard.BoardSetStore.
func (s *Store) Sweep(ctx context.Context, game, kept string, before int64) error {
	if err := s.sweep(ctx, game, kept, before); err != nil {
		return fmt.Errorf("sweep leaderboards: %w", err)
	}
	return nil
}

func (s *Store) sweep(ctx context.Context, game, kept string, before int64) error {
	if err := s.retire(ctx, game, kept, before, buildingKey(game)); err != nil {
		return err
	}
	if err := s.retire(ctx, game, kept, before, servedKey(game), formsKey(game), publishedKey(game)); err != nil {
		return err
	}
	retired, err := s.rdb.SMembers(ctx, retiredKey(game)).Result()
	if err != nil {
		return err
	}
	for _, id := range retired {
		if err := s.remove(ctx, leaderboard.Generation{Game: game, ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// retireAbandoned marks the abandoned board sets of all configurations except keptHash for
// removal. pointersKey is the key of the served or the building hash. otherKeys are further
// KEYS of retire.lua, for the served hash.
func (s *Store) retire(ctx context.Context, game, kept string, before int64, pointers string, otherKeys ...string) error {
	ids, err := s.rdb.HGetAll(ctx, pointers).Result()
	if err != nil {
		return err
	}
	delete(ids, kept)
	for other, id := range ids {
		state := stateKey(leaderboard.Generation{Game: game, ID: id})
		keys := append([]string{pointers, retiredKey(game), state}, otherKeys...)
		if err := retireScript.Run(ctx, s.rdb, keys, other, id, before).Err(); err != nil {
			return err
		}
	}
	return nil
}

// removeBoardSet deletes a retired board set. It deletes the version first, so that no
// transaction applies any more, then the boards, then the Redis set that lists them. It
// removes the id from the retired set last, so that an interrupted removal is repeated.
func (s *Store) remove(ctx context.Context, g leaderboard.Generation) error {
	if err := s.rdb.HDel(ctx, stateKey(g), "stamp", "ready").Err(); err != nil {
		return err
	}
	boards, err := s.rdb.SMembers(ctx, boardsKey(g)).Result()
	if err != nil {
		return err
	}
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, board := range boards {
			p.Unlink(ctx, keysOfBoardName(g, board).all()...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.rdb.Unlink(ctx, boardsKey(g), sealedKey(g), stateKey(g)).Err(); err != nil {
		return err
	}
	return s.rdb.SRem(ctx, retiredKey(g.Game), g.ID).Err()
}
