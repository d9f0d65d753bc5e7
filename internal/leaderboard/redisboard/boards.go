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

// ReadEntries implements leaderboard.EntryStore. It reads the boards one after the other,
// not at one moment. If a board changes between the reads, a later Commit that expects the old
// version returns ErrStale.
func (s *Store) ReadEntries(ctx context.Context, g leaderboard.Generation, wants []leaderboard.EntryRequest) ([]leaderboard.EntryAnswer, error) {
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
	contents := make([]leaderboard.EntryAnswer, len(wants))
	for i, w := range wants {
		contents[i].Size = entries[i].Val()
		if parts[i] == nil {
			continue
		}
		var err error
		if contents[i].Found, err = unpackAll(w.IDs, parts[i].Val()); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// ReadMembers implements leaderboard.EntryStore.
func (s *Store) ReadMembers(ctx context.Context, g leaderboard.Generation, v leaderboard.View, from int64, limit int) ([]leaderboard.BoardEntry, error) {
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

// ReadDaySizes implements leaderboard.EntryStore. ok is true only if the sizes of all kinds
// are stored.
func (s *Store) ReadSealedDay(ctx context.Context, g leaderboard.Generation, day string) (sealed leaderboard.SealedDay, ok bool, err error) {
	var fields []string
	for _, kind := range leaderboard.Kinds() {
		fields = append(fields, sealedField(kind, day))
	}
	values, err := s.rdb.HMGet(ctx, sealedKey(g), fields...).Result()
	if err != nil {
		return leaderboard.SealedDay{}, false, fmt.Errorf("read leaderboard sizes of the day %s: %w", day, err)
	}
	if slices.Contains(values, nil) {
		return leaderboard.SealedDay{}, false, nil
	}
	r := newReply(values)
	sealed = leaderboard.SealedDay{Day: day, Sizes: map[leaderboard.Kind]int64{}}
	for _, kind := range leaderboard.Kinds() {
		sealed.Sizes[kind] = r.number()
	}
	return sealed, true, r.err()
}
