package redisboard

import (
	"context"
	"fmt"
	"slices"

	_ "embed"

	"laststand/internal/leaderboard"
)

//go:embed commit.lua
var commitLua string

var commitScript = script(commitLua)

// Commit implements leaderboard.Boards. A step stalls Redis for some
// microseconds for each entry and ranking member that it writes.
func (s *Store) Commit(ctx context.Context, g leaderboard.Generation, steps []leaderboard.Step) error {
	if err := s.commit(ctx, g, steps); err != nil {
		return fmt.Errorf("commit leaderboards: %w", err)
	}
	return nil
}

func (s *Store) commit(ctx context.Context, g leaderboard.Generation, steps []leaderboard.Step) error {
	calls := make([]call, len(steps))
	for i, step := range steps {
		var err error
		if calls[i], err = stepCall(g, step); err != nil {
			return err
		}
	}
	replies, err := s.runAll(ctx, commitScript, calls)
	if err != nil {
		return err
	}
	for _, r := range replies {
		applied, err := r.Bool()
		if err != nil {
			return err
		}
		if !applied {
			return leaderboard.ErrStale
		}
	}
	return nil
}

func stepCall(g leaderboard.Generation, step leaderboard.Step) (call, error) {
	w := newWrites(stateKey(g), step.Expect, step.Stamp)
	for _, c := range step.Changes {
		w.add("SADD", boardsKey(g), name(c.Board))
		w.change(keysOf(g, c.Board), c)
	}
	for _, sealed := range step.Seal {
		for kind, entries := range sealed.Entries {
			w.add("HSET", sealedKey(g), sealedField(kind, sealed.Day), entries)
		}
	}
	for _, day := range step.Drop {
		w.drop(g, day)
	}
	state, err := stateFields(step.Progress, step.Loading, step.At)
	w.add("HSET", stateKey(g), state...)
	return w.call, err
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

// maxArgs is how many arguments commit.lua takes for a write. It is even, for
// those that come in pairs.
const maxArgs = 1000

// addAll adds as many writes as the arguments need: none without any.
func (w *writes) addAll(command, key string, args []any) {
	for some := range slices.Chunk(args, maxArgs) {
		w.add(command, key, some...)
	}
}

func (w *writes) change(k boardKeys, c leaderboard.Change) {
	put := make([]any, 0, 2*len(c.Put))
	for _, h := range c.Put {
		put = append(put, h.ID, pack(h))
	}
	w.addAll("HSET", k.parts(), put)
	w.addAll("HDEL", k.parts(), appendAll(nil, c.Gone))
	if c.AsOf > 0 {
		w.add("HSET", k.meta(), "as_of", c.AsOf)
	}
	for _, o := range leaderboard.Orders() {
		in := make([]any, 0, 2*len(c.In[o]))
		for _, r := range c.In[o] {
			in = append(in, formatKey(r.Key), r.Member)
		}
		w.addAll("ZREM", k.by(o), appendAll(nil, c.Out[o]))
		w.addAll("ZADD", k.by(o), in)
	}
}

func (w *writes) drop(g leaderboard.Generation, day string) {
	for _, kind := range leaderboard.Kinds() {
		board := leaderboard.Board{Kind: kind, Span: day}
		for _, key := range keysOf(g, board).all() {
			w.add("UNLINK", key)
		}
		w.add("SREM", boardsKey(g), name(board))
		w.add("HDEL", sealedKey(g), sealedField(kind, day))
	}
}
