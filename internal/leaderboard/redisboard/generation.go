package redisboard

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed begin.lua
var beginLua string

//go:embed publish.lua
var publishLua string

var (
	beginScript   = script(beginLua)
	publishScript = script(publishLua)
)

// Find implements leaderboard.Generations.
func (s *Store) Find(ctx context.Context, game, form string) (leaderboard.State, error) {
	pipe := s.rdb.Pipeline()
	served := pipe.HGet(ctx, servedKey(game), form)
	building := pipe.HGet(ctx, buildingKey(game), form)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return leaderboard.State{}, fmt.Errorf("find leaderboards: %w", err)
	}
	state := leaderboard.State{Generation: leaderboard.Generation{Game: game, Form: form}}
	switch {
	case building.Val() != "":
		state.ID, state.Before = building.Val(), served.Val()
	case served.Val() != "":
		state.ID, state.Served = served.Val(), true
	default:
		return state, nil
	}
	return s.load(ctx, state)
}

// load fills in how far a generation is. It leaves the stamp empty where a
// step was cut short in it, or it is not what the pointer says.
func (s *Store) load(ctx context.Context, state leaderboard.State) (leaderboard.State, error) {
	fields, err := s.rdb.HGetAll(ctx, stateKey(state.Game, state.ID)).Result()
	if err != nil {
		return state, fmt.Errorf("read the state of leaderboards: %w", err)
	}
	if fields["stamp"] == "torn" || state.Served && fields["ready"] != "1" {
		return state, nil
	}
	if fields["stamp"] == "" {
		return state, nil
	}
	pos, err := strconv.ParseInt(fields["pos"], 10, 64)
	if err != nil {
		return state, fmt.Errorf("read the state of leaderboards: %w", err)
	}
	state.Stamp, state.First = fields["stamp"], fields["first"]
	state.Mark = leaderboard.Watermark{
		Epoch: fields["epoch"], Pos: pos, RowID: fields["row"], Day: fields["day"],
	}
	return state, nil
}

// Begin implements leaderboard.Generations.
func (s *Store) Begin(ctx context.Context, fresh leaderboard.State, instead string) error {
	game := fresh.Game
	keys := []string{servedKey(game), buildingKey(game), retiredKey(game), stateKey(game, fresh.ID)}
	err := beginScript.Run(ctx, s.rdb, keys,
		fresh.Form, fresh.ID, instead, fresh.Stamp, fresh.Mark.Epoch, fresh.At).Err()
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	return nil
}

// Publish implements leaderboard.Generations.
func (s *Store) Publish(ctx context.Context, state leaderboard.State) error {
	game := state.Game
	before := stateKey(game, state.ID)
	if state.Before != "" {
		before = stateKey(game, state.Before)
	}
	keys := []string{servedKey(game), buildingKey(game), retiredKey(game), stateKey(game, state.ID), before}
	if err := publishScript.Run(ctx, s.rdb, keys, state.Form, state.ID, state.Before).Err(); err != nil {
		return fmt.Errorf("publish leaderboards: %w", err)
	}
	return nil
}
