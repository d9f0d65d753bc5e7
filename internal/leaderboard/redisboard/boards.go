package redisboard

import (
	"context"
	"fmt"
	"slices"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed members.lua
var membersLua string

var membersScript = script(membersLua)

// Held implements leaderboard.Boards. It reads board after board: who writes
// by what it read has the stamp tell whether they moved meanwhile.
func (s *Store) Held(ctx context.Context, g leaderboard.Generation, wants []leaderboard.Want) ([]leaderboard.Content, error) {
	pipe := s.rdb.Pipeline()
	parts := make([]*redis.SliceCmd, len(wants))
	entries := make([]*redis.IntCmd, len(wants))
	for i, w := range wants {
		key := keysOf(g, w.Board).parts()
		entries[i] = pipe.HLen(ctx, key)
		if len(w.IDs) > 0 {
			parts[i] = pipe.HMGet(ctx, key, w.IDs...)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read leaderboard entries: %w", err)
	}
	contents := make([]leaderboard.Content, len(wants))
	for i, w := range wants {
		contents[i].Entries = entries[i].Val()
		if parts[i] == nil {
			continue
		}
		var err error
		if contents[i].Held, err = unpackAll(w.IDs, parts[i].Val()); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// Members implements leaderboard.Boards.
func (s *Store) Members(ctx context.Context, g leaderboard.Generation, v leaderboard.View, from int64, limit int) ([]leaderboard.Held, error) {
	keys := keysOf(g, v.Board)
	values, err := membersScript.Run(ctx, s.rdb, []string{keys.by(v.Ranking), keys.parts()}, from, from+int64(limit)-1).Slice()
	if err != nil {
		return nil, fmt.Errorf("read leaderboard entries: %w", err)
	}
	r := newReply(values)
	ids := r.texts()
	parts := r.listOf(len(ids))
	if r.err() != nil {
		return nil, r.err()
	}
	return unpackAll(ids, parts)
}

// Sealed implements leaderboard.Boards. A day is sealed once all kinds are.
func (s *Store) Sealed(ctx context.Context, g leaderboard.Generation, day string) (sealed leaderboard.Sealed, ok bool, err error) {
	var fields []string
	for _, kind := range leaderboard.Kinds() {
		fields = append(fields, sealedField(kind, day))
	}
	values, err := s.rdb.HMGet(ctx, sealedKey(g), fields...).Result()
	if err != nil {
		return leaderboard.Sealed{}, false, fmt.Errorf("read what the leaderboards of %s had: %w", day, err)
	}
	if slices.Contains(values, nil) {
		return leaderboard.Sealed{}, false, nil
	}
	r := newReply(values)
	sealed = leaderboard.Sealed{Day: day, Entries: map[leaderboard.Kind]int64{}}
	for _, kind := range leaderboard.Kinds() {
		sealed.Entries[kind] = r.number()
	}
	return sealed, true, r.err()
}
