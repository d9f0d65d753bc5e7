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
	beginScript   = script(beginLua)
	publishScript = script(publishLua)
)

// torn is the stamp of a generation in which a step was cut short.
const torn = "torn"

// Served implements leaderboard.Generations.
func (s *Store) Served(ctx context.Context, game, form string) (leaderboard.State, error) {
	state := leaderboard.State{Generation: leaderboard.Generation{Game: game, Form: form}}
	served, err := s.rdb.HGet(ctx, servedKey(game), form).Result()
	if errors.Is(err, redis.Nil) {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("find leaderboards: %w", err)
	}
	state.ID, state.Served = served, true
	return s.load(ctx, state)
}

// Building implements leaderboard.Generations.
func (s *Store) Building(ctx context.Context, game, form string) (leaderboard.State, error) {
	state := leaderboard.State{Generation: leaderboard.Generation{Game: game, Form: form}}
	pipe := s.rdb.Pipeline()
	served := pipe.HGet(ctx, servedKey(game), form)
	building := pipe.HGet(ctx, buildingKey(game), form)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return state, fmt.Errorf("find leaderboards: %w", err)
	}
	if building.Val() == "" {
		return state, nil
	}
	state.ID, state.Before = building.Val(), served.Val()
	return s.load(ctx, state)
}

// load fills in how far a generation is. It leaves the stamp empty where a
// step was cut short in it, or it is not what the pointer says.
func (s *Store) load(ctx context.Context, state leaderboard.State) (leaderboard.State, error) {
	fields := append([]string{"ready", "stamp", "loading"}, progressFields...)
	values, err := s.rdb.HMGet(ctx, stateKey(state.Generation), fields...).Result()
	if err != nil {
		return state, fmt.Errorf("read the state of leaderboards: %w", err)
	}
	r := newReply(values)
	ready, stamp, loading := r.text() == "1", r.text(), r.text() == "1"
	if stamp == "" || stamp == torn || state.Served && !ready {
		return state, nil
	}
	state.Stamp, state.Loading, state.Progress = stamp, loading, r.progress()
	return state, r.err()
}

// Begin implements leaderboard.Generations.
func (s *Store) Begin(ctx context.Context, cfg leaderboard.Config, fresh leaderboard.State, instead string) error {
	config, err := packForm(cfg)
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	fields, err := stateFields(fresh.Progress, fresh.Loading, fresh.At)
	if err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	game := fresh.Game
	keys := []string{servedKey(game), buildingKey(game), retiredKey(game), stateKey(fresh.Generation)}
	args := append([]any{fresh.Form, fresh.ID, instead, "stamp", fresh.Stamp, "config", config}, fields...)
	if err := beginScript.Run(ctx, s.rdb, keys, args...).Err(); err != nil {
		return fmt.Errorf("begin leaderboards: %w", err)
	}
	return nil
}

// Publish implements leaderboard.Generations. A copy that is Loading, lost or
// torn is not published.
func (s *Store) Publish(ctx context.Context, state leaderboard.State) error {
	game, before := state.Game, state.Generation
	if state.Before != "" {
		before.ID = state.Before
	}
	keys := []string{
		servedKey(game), buildingKey(game), retiredKey(game), formsKey(game), publishedKey(game),
		stateKey(state.Generation), stateKey(before),
	}
	if err := publishScript.Run(ctx, s.rdb, keys, state.Form, state.ID, state.Before).Err(); err != nil {
		return fmt.Errorf("publish leaderboards: %w", err)
	}
	return nil
}
