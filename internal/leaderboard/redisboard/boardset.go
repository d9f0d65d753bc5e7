package redisboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// LastPublished implements leaderboard.BoardSetStore.
func (s *Store) LastPublished(ctx context.Context, game string) (last leaderboard.Config, found bool, err error) {
	served, err := s.rdb.HVals(ctx, servedKey(game)).Result()
	if err != nil {
		return last, false, fmt.Errorf("read leaderboard configurations: %w", err)
	}
	lastPublication := int64(0)
	for _, id := range served {
		values, err := s.rdb.HMGet(ctx, stateKey(leaderboard.BoardSet{Game: game, ID: id}), "config", "published").Result()
		if err != nil {
			return last, false, fmt.Errorf("read leaderboard configurations: %w", err)
		}
		reply := newReply(values)
		packed, publication := reply.text(), reply.number()
		if packed == "" || publication < lastPublication { // without config, Redis lost the state
			continue
		}
		last, found, lastPublication = leaderboard.Config{Game: game}, true, publication
		if err := errors.Join(json.Unmarshal([]byte(packed), &last), reply.err()); err != nil {
			return last, false, fmt.Errorf("leaderboard configuration of board set %s: %w", id, err)
		}
	}
	return last, found, nil
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
