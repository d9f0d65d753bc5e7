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

// Commit implements leaderboard.EntryStore. A transaction blocks Redis for a few
// microseconds per entry and member.
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
		isApplied, err := r.Bool()
		if err != nil {
			return err
		}
		if !isApplied {
			return leaderboard.ErrStale
		}
	}
	return nil
}

func stepCall(g leaderboard.Generation, step leaderboard.Step) (call, error) {
	w := newScriptWrites(stateKey(g), step.ExpectedVersion, step.Version)
	for _, c := range step.Changes {
		w.add("SADD", boardsKey(g), boardName(c.Board))
		w.addChange(keysOf(g, c.Board), c)
	}
	for _, sealed := range step.SealedDays {
		for kind, entries := range sealed.Sizes {
			w.add("HSET", sealedKey(g), sealedField(kind, sealed.Day), entries)
		}
	}
	for _, day := range step.DroppedDays {
		w.addDrop(g, day)
	}
	state, err := stateFields(step.Progress, step.Loading, step.PlannedAt)
	w.add("HSET", stateKey(g), state...)
	return w.call, err
}

// writeList collects the writes of a transaction as arguments for commit.lua.
type scriptWrites struct {
	call    call
	indexes map[string]int // index of a key in KEYS, from 1
}

func newScriptWrites(state string, versions ...any) *scriptWrites {
	return &scriptWrites{call: call{keys: []string{state}, args: versions}, indexes: map[string]int{state: 1}}
}

func (w *scriptWrites) add(command, key string, args ...any) {
	if w.indexes[key] == 0 {
		w.call.keys = append(w.call.keys, key)
		w.indexes[key] = len(w.call.keys)
	}
	w.call.args = append(w.call.args, command, w.indexes[key], len(args))
	w.call.args = append(w.call.args, args...)
}

// maxWriteArgs is the number of arguments that commit.lua accepts for one write. It is even,
// so that addInChunks does not split pairs.
const maxArgs = 1000

// addInChunks adds writes with at most maxWriteArgs arguments each. It adds none without
// arguments.
func (w *scriptWrites) addAll(command, key string, args []any) {
	for chunk := range slices.Chunk(args, maxArgs) {
		w.add(command, key, chunk...)
	}
}

func (w *scriptWrites) addChange(k boardKeys, c leaderboard.Change) {
	put := make([]any, 0, 2*len(c.Put))
	for _, h := range c.Put {
		put = append(put, h.ID, pack(h))
	}
	w.addAll("HSET", k.parts(), put)
	w.addAll("HDEL", k.parts(), appendTexts(nil, c.Removed))
	if c.AsOf > 0 {
		w.add("HSET", k.meta(), "as_of", c.AsOf)
	}
	for _, o := range leaderboard.Orders() {
		added := make([]any, 0, 2*len(c.AddedMembers[o]))
		for _, r := range c.AddedMembers[o] {
			added = append(added, formatKey(r.Key), r.Member)
		}
		w.addAll("ZREM", k.by(o), appendTexts(nil, c.RemovedMembers[o]))
		w.addAll("ZADD", k.by(o), added)
	}
}

func (w *scriptWrites) addDrop(g leaderboard.Generation, day string) {
	for _, kind := range leaderboard.Kinds() {
		board := leaderboard.Board{Kind: kind, Span: day}
		for _, key := range keysOf(g, board).all() {
			w.add("UNLINK", key)
		}
		w.add("SREM", boardsKey(g), boardName(board))
		w.add("HDEL", sealedKey(g), sealedField(kind, day))
	}
}
