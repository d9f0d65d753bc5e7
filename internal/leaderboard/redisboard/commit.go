package redisboard

import (
	"context"
	"fmt"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed commit.lua
var commitLua string

var commitScript = script(commitLua)

// Held implements leaderboard.Boards.
func (s *Store) Held(ctx context.Context, g leaderboard.Generation, wants []leaderboard.Want) ([][]leaderboard.Held, error) {
	pipe := s.rdb.Pipeline()
	replies := make([]*redis.SliceCmd, len(wants))
	for i, w := range wants {
		replies[i] = pipe.HMGet(ctx, keysOf(g.Game, g.ID, w.Board).parts(), w.IDs...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read leaderboard entries: %w", err)
	}
	held := make([][]leaderboard.Held, len(wants))
	for i, w := range wants {
		var err error
		if held[i], err = unpackAll(w.IDs, replies[i].Val()); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// Commit implements leaderboard.Boards.
func (s *Store) Commit(ctx context.Context, g leaderboard.Generation, steps []leaderboard.Step) error {
	calls := make([]call, len(steps))
	for i, step := range steps {
		calls[i] = stepCall(g, step)
	}
	replies, err := s.runAll(ctx, commitScript, calls)
	if err != nil {
		return fmt.Errorf("commit leaderboards: %w", err)
	}
	for _, r := range replies {
		applied, err := r.Int()
		if err != nil {
			return fmt.Errorf("commit leaderboards: %w", err)
		}
		if applied == 0 {
			return leaderboard.ErrStale
		}
	}
	return nil
}

func stepCall(g leaderboard.Generation, step leaderboard.Step) call {
	w := newWrites(stateKey(g.Game, g.ID), step.Expect, step.Stamp)
	for _, c := range step.Changes {
		w.change(keysOf(g.Game, g.ID, c.Board), c)
	}
	for _, b := range step.Drop {
		for _, key := range keysOf(g.Game, g.ID, b).all() {
			w.add("UNLINK", key)
		}
	}
	m := step.Mark
	w.add("HSET", stateKey(g.Game, g.ID), "touched", step.At,
		"epoch", m.Epoch, "pos", m.Pos, "row", m.RowID, "day", m.Day, "first", step.First)
	return w.call
}

// writes gathers what commit.lua is to write.
type writes struct {
	call call
	at   map[string]int // a key's index in KEYS, from 1
}

func newWrites(state string, stamps ...any) *writes {
	return &writes{call: call{keys: []string{state}, args: stamps}, at: map[string]int{state: 1}}
}

func (w *writes) add(command, key string, args ...any) {
	if w.at[key] == 0 {
		w.call.keys = append(w.call.keys, key)
		w.at[key] = len(w.call.keys)
	}
	w.call.args = append(w.call.args, command, w.at[key], len(args))
	w.call.args = append(w.call.args, args...)
}

func (w *writes) change(k boardKeys, c leaderboard.Change) {
	var parts []any
	for _, h := range c.Put {
		parts = append(parts, h.ID, pack(h))
	}
	w.add("HSET", k.parts(), parts...)
	w.add("HSET", k.meta(), "as_of", c.AsOf)
	for _, o := range leaderboard.Orders() {
		var out, in []any
		for _, member := range c.Out[o] {
			out = append(out, member)
		}
		for _, r := range c.In[o] {
			in = append(in, formatKey(r.Key), r.Member)
		}
		if len(out) > 0 {
			w.add("ZREM", k.by(o), out...)
		}
		if len(in) > 0 {
			w.add("ZADD", k.by(o), in...)
		}
	}
}
