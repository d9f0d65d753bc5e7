package redisboard

import (
	"context"
	"errors"
	"fmt"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed begin.lua
var beginLua string

//go:embed publish.lua
var publishLua string

var (
	beginScript   = newScript(beginLua)
	publishScript = newScript(publishLua)
)

// corruptVersion is the version of a board set in which a transaction was interrupted by an
// error.
const corruptVersion = "torn"

// ServedState implements leaderboard.BoardSetStore.
func (s *Store) ServedState(ctx context.Context, game, configHash string) (leaderboard.BoardSetState, error) {
	state := leaderboard.BoardSetState{BoardSet: leaderboard.BoardSet{Game: game, ConfigHash: configHash}}
	served, err := s.rdb.HGet(ctx, servedKey(game), configHash).Result()
	if errors.Is(err, redis.Nil) {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("look up leaderboards: %w", err)
	}
	state.ID, state.Served = served, true
	return s.loadState(ctx, state)
}

// BuildingState implements leaderboard.BoardSetStore.
func (s *Store) BuildingState(ctx context.Context, game, configHash string) (leaderboard.BoardSetState, error) {
	state := leaderboard.BoardSetState{BoardSet: leaderboard.BoardSet{Game: game, ConfigHash: configHash}}
	pipe := s.rdb.Pipeline()
	served := pipe.HGet(ctx, servedKey(game), configHash)
	building := pipe.HGet(ctx, buildingKey(game), configHash)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return state, fmt.Errorf("look up leaderboards: %w", err)
	}
	if building.Val() == "" {
		return state, nil
	}
	state.ID, state.ReplacedID = building.Val(), served.Val()
	return s.loadState(ctx, state)
}

// loadState fills in the version and progress of a board set. It leaves Version empty if
// the board set is corrupt or does not exist.
func (s *Store) loadState(ctx context.Context, state leaderboard.BoardSetState) (leaderboard.BoardSetState, error) {
	fields := append([]string{"ready", "version", "loading"}, progressFields...)
	values, err := s.rdb.HMGet(ctx, stateKey(state.BoardSet), fields...).Result()
	if err != nil {
		return state, fmt.Errorf("read the state of leaderboards: %w", err)
	}
	reply := newReply(values)
	isServed, version, loading := reply.text() == "1", reply.text(), reply.text() == "1"
	if version == "" || version == corruptVersion || state.Served && !isServed {
		return state, nil
	}
	state.Version, state.Loading, state.Progress = version, loading, reply.progress()
	return state, reply.err()
}

// Begin implements leaderboard.BoardSetStore.
func (s *Store) Begin(ctx context.Context, cfg leaderboard.Config, newState leaderboard.BoardSetState, replacedID string) error {
	config, err := packConfig(cfg)
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	fields, err := stateFields(newState.Progress, newState.Loading, newState.BegunAt)
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	game := newState.Game
	keys := []string{servedKey(game), buildingKey(game), retiredKey(game), stateKey(newState.BoardSet)}
	args := append([]any{newState.ConfigHash, newState.ID, replacedID, "version", newState.Version, "config", config}, fields...)
	if err := beginScript.Run(ctx, s.rdb, keys, args...).Err(); err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	return nil
}

// Publish implements leaderboard.BoardSetStore. It does nothing if the board set is being
// loaded, lost or corrupt.
func (s *Store) Publish(ctx context.Context, state leaderboard.BoardSetState) error {
	game, servedBefore := state.Game, state.BoardSet
	if state.ReplacedID != "" {
		servedBefore.ID = state.ReplacedID
	}
	keys := []string{
		servedKey(game), buildingKey(game), retiredKey(game), configsKey(game), publishedKey(game),
		stateKey(state.BoardSet), stateKey(servedBefore),
	}
	if err := publishScript.Run(ctx, s.rdb, keys, state.ConfigHash, state.ID, state.ReplacedID).Err(); err != nil {
		return fmt.Errorf("publish leaderboards: %w", err)
	}
	return nil
}
