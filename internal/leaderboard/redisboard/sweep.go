package redisboard

import (
	"context"
	"fmt"
	"time"

	_ "embed"

	"laststand/internal/leaderboard"
)

//go:embed retire.lua
var retireLua string

var retireScript = script(retireLua)

// Sweep implements leaderboard.Generations.
func (s *Store) Sweep(ctx context.Context, game, form string, before int64) error {
	for _, pointers := range []string{servedKey(game), buildingKey(game)} {
		kept, err := s.rdb.HGetAll(ctx, pointers).Result()
		if err != nil {
			return fmt.Errorf("sweep leaderboards: %w", err)
		}
		delete(kept, form)
		for other, gen := range kept {
			keys := []string{pointers, retiredKey(game), stateKey(game, gen)}
			if err := retireScript.Run(ctx, s.rdb, keys, other, gen, before).Err(); err != nil {
				return fmt.Errorf("sweep leaderboards: %w", err)
			}
		}
	}
	retired, err := s.rdb.SMembers(ctx, retiredKey(game)).Result()
	if err != nil {
		return fmt.Errorf("sweep leaderboards: %w", err)
	}
	for _, gen := range retired {
		if err := s.remove(ctx, game, gen); err != nil {
			return fmt.Errorf("sweep leaderboards: %w", err)
		}
	}
	return nil
}

// remove unlinks all of a retired generation. First its stamp, so that nobody
// writes to it again; last the state, which says which days it has, and the
// name, so that a removal that was cut short is taken up again.
func (s *Store) remove(ctx context.Context, game, gen string) error {
	state := stateKey(game, gen)
	if err := s.rdb.HDel(ctx, state, "stamp", "ready").Err(); err != nil {
		return err
	}
	day, err := s.rdb.HMGet(ctx, state, "day").Result()
	if err != nil {
		return err
	}
	open, _ := day[0].(string)
	for _, span := range spans(open) {
		board := leaderboard.Board{Kind: leaderboard.Players, Span: span}
		if err := s.rdb.Unlink(ctx, keysOf(game, gen, board).all()...).Err(); err != nil {
			return err
		}
	}
	if err := s.rdb.Unlink(ctx, state).Err(); err != nil {
		return err
	}
	return s.rdb.SRem(ctx, retiredKey(game), gen).Err()
}

// spans lists those that a generation may have boards of when it is at a day.
func spans(open string) []string {
	all := []string{string(leaderboard.All)}
	day, err := time.Parse(time.DateOnly, open)
	if err != nil { // no row yet, so no day
		return all
	}
	for ago := range leaderboard.KeepDays {
		all = append(all, day.AddDate(0, 0, -ago).Format(time.DateOnly))
	}
	return all
}
