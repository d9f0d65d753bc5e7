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

var retireScript = newScript(retireLua)

// Sweep implements leaderboard.BoardSetStore.
func (s *Store) Sweep(ctx context.Context, game, keptHash string, before int64) error {
	if err := s.sweep(ctx, game, keptHash, before); err != nil {
		return fmt.Errorf("sweep leaderboards: %w", err)
	}
	return nil
}

func (s *Store) sweep(ctx context.Context, game, keptHash string, before int64) error {
	if err := s.retireAbandoned(ctx, game, keptHash, before, buildingKey(game)); err != nil {
		return err
	}
	if err := s.retireAbandoned(ctx, game, keptHash, before, servedKey(game), configsKey(game), publishedKey(game)); err != nil {
		return err
	}
	retiredIDs, err := s.rdb.SMembers(ctx, retiredKey(game)).Result()
	if err != nil {
		return err
	}
	for _, id := range retiredIDs {
		if err := s.removeBoardSet(ctx, leaderboard.BoardSet{Game: game, ID: id}); err != nil {
			return err
		}
	}
	return nil
}

// retireAbandoned marks the abandoned board sets of all configurations except keptHash for
// removal. pointersKey is the key of the served or the building hash. otherKeys are further
// KEYS of retire.lua, for the served hash.
func (s *Store) retireAbandoned(ctx context.Context, game, keptHash string, before int64, pointersKey string, otherKeys ...string) error {
	idsByHash, err := s.rdb.HGetAll(ctx, pointersKey).Result()
	if err != nil {
		return err
	}
	delete(idsByHash, keptHash)
	for configHash, id := range idsByHash {
		state := stateKey(leaderboard.BoardSet{Game: game, ID: id})
		keys := append([]string{pointersKey, retiredKey(game), state}, otherKeys...)
		if err := retireScript.Run(ctx, s.rdb, keys, configHash, id, before).Err(); err != nil {
			return err
		}
	}
	return nil
}

// removeBoardSet deletes a retired board set. It deletes the version first, so that no
// transaction applies any more, then the boards, then the Redis set that lists them. It
// removes the id from the retired set last, so that an interrupted removal is repeated.
func (s *Store) removeBoardSet(ctx context.Context, boardSet leaderboard.BoardSet) error {
	if err := s.rdb.HDel(ctx, stateKey(boardSet), "version", "ready").Err(); err != nil {
		return err
	}
	boards, err := s.rdb.SMembers(ctx, boardsKey(boardSet)).Result()
	if err != nil {
		return err
	}
	_, err = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, name := range boards {
			pipe.Unlink(ctx, keysForName(boardSet, name).allKeys()...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.rdb.Unlink(ctx, boardsKey(boardSet), daySizesKey(boardSet), stateKey(boardSet)).Err(); err != nil {
		return err
	}
	return s.rdb.SRem(ctx, retiredKey(boardSet.Game), boardSet.ID).Err()
}
