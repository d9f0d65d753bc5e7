package redisstore

import (
	"context"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

var retireScript = newScript("board_retire")

// Sweep implements leaderboard.BoardSetStore.
func (s *Boards) Sweep(ctx context.Context, game, keptHash string, before int64) error {
	err := s.retireConfigs(ctx, game, keptHash, before)
	if err == nil {
		err = s.removeUnused(ctx, game)
	}
	return wrap("sweep leaderboards", err)
}

// retireConfigs removes abandoned configurations.
func (s *Boards) retireConfigs(ctx context.Context, game, keptHash string, before int64) error {
	_, served, building, err := s.listBoardSets(ctx, game)
	if err != nil {
		return err
	}
	maps.Copy(building, served) // if a configuration has both, the served board set decides
	delete(building, keptHash)
	for configHash, id := range building {
		keys := []string{servedKey(game), buildingKey(game), stateKey(leaderboard.BoardSet{Game: game, ID: id})}
		if err := retireScript.Run(ctx, s.rdb, keys, configHash, id, before).Err(); err != nil {
			return err
		}
	}
	return nil
}

// removeUnused removes the board sets that are neither served nor being built.
func (s *Boards) removeUnused(ctx context.Context, game string) error {
	ids, served, building, err := s.listBoardSets(ctx, game)
	used := slices.Concat(slices.Collect(maps.Values(served)), slices.Collect(maps.Values(building)))
	for _, id := range ids {
		if err == nil && !slices.Contains(used, id) {
			err = s.removeBoardSet(ctx, leaderboard.BoardSet{Game: game, ID: id})
		}
	}
	return err
}

// listBoardSets returns the ids of all board sets, and the served and building ones by the
// hash of their configuration, at one moment.
func (s *Boards) listBoardSets(ctx context.Context, game string) (ids []string, served, building map[string]string, err error) {
	pipe := s.rdb.TxPipeline()
	allIDs := pipe.SMembers(ctx, boardSetsKey(game))
	servedIDs := pipe.HGetAll(ctx, servedKey(game))
	buildingIDs := pipe.HGetAll(ctx, buildingKey(game))
	_, err = pipe.Exec(ctx)
	return allIDs.Val(), servedIDs.Val(), buildingIDs.Val(), err
}

// removeBoardSet deletes an unused board set. It deletes the version first, so that no
// transaction applies any more, then the boards, then the Redis set that lists them. It
// removes the id from the set of ids last, so that an interrupted removal is repeated.
func (s *Boards) removeBoardSet(ctx context.Context, boardSet leaderboard.BoardSet) error {
	if err := s.rdb.HDel(ctx, stateKey(boardSet), "version").Err(); err != nil {
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
		pipe.Unlink(ctx, boardsKey(boardSet), stateKey(boardSet))
		pipe.SRem(ctx, boardSetsKey(boardSet.Game), boardSet.ID)
		return nil
	})
	return err
}
