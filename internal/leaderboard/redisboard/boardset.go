package redisboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

var publishScript = newScript("publish")

// corruptVersion is the version of a board set in which a transaction was interrupted by an
// error.
const corruptVersion = "torn"

// ServedState implements leaderboard.BoardSetStore.
func (s *Store) ServedState(ctx context.Context, game, configHash string) (leaderboard.BoardSetState, error) {
	state := leaderboard.BoardSetState{BoardSet: leaderboard.BoardSet{Game: game, ConfigHash: configHash}}
	pipe := s.rdb.Pipeline()
	served := pipe.HGet(ctx, servedKey(game), configHash)
	building := pipe.HGet(ctx, buildingKey(game), configHash)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return state, fmt.Errorf("look up leaderboards: %w", err)
	}
	state.ID, state.PendingBuild = served.Val(), building.Val()
	if state.ID == "" {
		return state, nil
	}
	values, err := s.rdb.HMGet(ctx, stateKey(state.BoardSet), "version", "loading", "progress").Result()
	if err != nil {
		return state, fmt.Errorf("read the state of leaderboards: %w", err)
	}
	reply := newReply(values)
	version, loading := reply.text(), reply.text() == "1"
	if version == "" || version == corruptVersion {
		return state, nil
	}
	state.Version, state.Loading, state.Progress = version, loading, reply.progress()
	return state, reply.err()
}

// ServedConfigs implements leaderboard.BoardSetStore.
func (s *Store) ServedConfigs(ctx context.Context, game string) ([]leaderboard.Config, error) {
	idsByHash, err := s.rdb.HGetAll(ctx, servedKey(game)).Result()
	if err != nil {
		return nil, fmt.Errorf("read leaderboard configurations: %w", err)
	}
	configs := map[int64]leaderboard.Config{} // by the order of publishing
	for configHash, id := range idsByHash {
		values, err := s.rdb.HMGet(ctx, stateKey(leaderboard.BoardSet{Game: game, ID: id}), "config", "published").Result()
		if err != nil {
			return nil, fmt.Errorf("read leaderboard configurations: %w", err)
		}
		reply := newReply(values)
		packed, published := reply.text(), reply.number()
		if packed == "" {
			continue // Redis lost the state
		}
		cfg := leaderboard.Config{Game: game}
		if err := errors.Join(json.Unmarshal([]byte(packed), &cfg), reply.err()); err != nil {
			return nil, fmt.Errorf("leaderboard configuration %s: %w", configHash, err)
		}
		configs[published] = cfg
	}
	var newestFirst []leaderboard.Config
	for _, published := range slices.Backward(slices.Sorted(maps.Keys(configs))) {
		newestFirst = append(newestFirst, configs[published])
	}
	return newestFirst, nil
}

// RequestBuild implements leaderboard.BoardSetStore.
func (s *Store) RequestBuild(ctx context.Context, game, configHash, reason string) error {
	if err := s.rdb.HSetNX(ctx, buildingKey(game), configHash, reason).Err(); err != nil {
		return fmt.Errorf("request a build of leaderboards: %w", err)
	}
	return nil
}

// Begin implements leaderboard.BoardSetStore.
func (s *Store) Begin(ctx context.Context, cfg leaderboard.Config, newState leaderboard.BoardSetState, now int64) error {
	config, err := json.Marshal(cfg)
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	fields, err := stateFields(newState.Progress, newState.Loading, now)
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	_, err = s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.SAdd(ctx, boardSetsKey(newState.Game), newState.ID)
		pipe.HSet(ctx, stateKey(newState.BoardSet), append(fields, "version", newState.Version, "config", config)...)
		pipe.HSet(ctx, buildingKey(newState.Game), newState.ConfigHash, newState.ID)
		return nil
	})
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	return nil
}

// Publish implements leaderboard.BoardSetStore. It does nothing if the board set is being
// loaded, lost or corrupt.
func (s *Store) Publish(ctx context.Context, boardSet leaderboard.BoardSet) error {
	game := boardSet.Game
	keys := []string{servedKey(game), buildingKey(game), publicationsKey(game), stateKey(boardSet)}
	if err := publishScript.Run(ctx, s.rdb, keys, boardSet.ConfigHash, boardSet.ID).Err(); err != nil {
		return fmt.Errorf("publish leaderboards: %w", err)
	}
	return nil
}
