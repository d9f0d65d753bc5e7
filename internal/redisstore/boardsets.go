package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

var publishScript = newScript("board_publish")

// corruptVersion is the version of a board set in which a transaction was interrupted by an
// error.
const corruptVersion = "torn"

// ServedState implements leaderboard.BoardSetStore. It reads the state of the board set that
// this node last saw as served together with the served id, and repeats this if the ids differ.
func (s *Boards) ServedState(ctx context.Context, game, configHash string) (leaderboard.BoardSetState, error) {
	key := configKey{game, configHash}
	lastSeen, _ := s.lastServed.Load(key)
	state := leaderboard.BoardSetState{BoardSet: leaderboard.BoardSet{Game: game, ConfigHash: configHash}}
	state.ID, _ = lastSeen.(string)
	for {
		pipe := s.rdb.Pipeline()
		served, building := pipe.HGet(ctx, servedKey(game), configHash), pipe.HGet(ctx, buildingKey(game), configHash)
		values := pipe.HMGet(ctx, stateKey(state.BoardSet), "version", "loading", "progress")
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return state, fmt.Errorf("read the state of leaderboards: %w", err)
		}
		state.PendingBuild = building.Val()
		if state.ID == served.Val() {
			err := setState(&state, values.Val())
			return state, err
		}
		state.ID = served.Val()
		s.lastServed.Store(key, state.ID)
	}
}

// setState sets the state from fields of the hash. It leaves it empty if the board set is
// lost or corrupt.
func setState(state *leaderboard.BoardSetState, values []any) (err error) {
	reply := redisx.Reply(values)
	version := reply.Text(0)
	if version == "" || version == corruptVersion {
		return nil
	}
	state.Version, state.Loading = version, reply.Text(1) == "1"
	state.Progress, err = parseProgress(reply.Text(2))
	return err
}

// LastPublished implements leaderboard.BoardSetStore.
func (s *Boards) LastPublished(ctx context.Context, game string) (last leaderboard.Config, found bool, err error) {
	served, err := s.rdb.HVals(ctx, servedKey(game)).Result()
	lastPublication := int64(0)
	for i := 0; i < len(served) && err == nil; i++ {
		var values []any
		values, err = s.rdb.HMGet(ctx, stateKey(leaderboard.BoardSet{Game: game, ID: served[i]}), "config", "published").Result()
		reply := redisx.Reply(values)
		if config, publication := reply.Text(0), reply.Number(1); err == nil && config != "" && publication >= lastPublication { // without config, Redis lost the state
			last, found, lastPublication = leaderboard.Config{Game: game}, true, publication
			err = json.Unmarshal([]byte(config), &last)
		}
	}
	return last, found && err == nil, wrap("read leaderboard configurations", err)
}

// RequestBuild implements leaderboard.BoardSetStore.
func (s *Boards) RequestBuild(ctx context.Context, game, configHash, reason string) error {
	return wrap("request a build of leaderboards", s.rdb.HSetNX(ctx, buildingKey(game), configHash, reason).Err())
}

// Begin implements leaderboard.BoardSetStore.
func (s *Boards) Begin(ctx context.Context, cfg leaderboard.Config, newState leaderboard.BoardSetState, now int64) error {
	config, err := json.Marshal(cfg)
	fields, fieldsErr := stateFields(newState.Progress, newState.Loading, now)
	if err = errors.Join(err, fieldsErr); err == nil {
		_, err = s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SAdd(ctx, boardSetsKey(newState.Game), newState.ID)
			pipe.HSet(ctx, stateKey(newState.BoardSet), append(fields, "version", newState.Version, "config", config)...)
			pipe.HSet(ctx, buildingKey(newState.Game), newState.ConfigHash, newState.ID)
			return nil
		})
	}
	return wrap("begin leaderboards", err)
}

// Publish implements leaderboard.BoardSetStore. It does nothing if the board set is being
// loaded, lost or corrupt.
func (s *Boards) Publish(ctx context.Context, boardSet leaderboard.BoardSet) error {
	game := boardSet.Game
	keys := []string{servedKey(game), buildingKey(game), publicationsKey(game), stateKey(boardSet)}
	return wrap("publish leaderboards", publishScript.Run(ctx, s.rdb, keys, boardSet.ConfigHash, boardSet.ID).Err())
}
