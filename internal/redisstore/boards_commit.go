package redisstore

import (
	"context"
	"fmt"
	"slices"

	"laststand/internal/leaderboard"
)

var commitScript = newScript("board_commit")

// Commit implements leaderboard.EntryStore. A transaction blocks Redis for a few
// microseconds per entry and member.
func (s *Boards) Commit(ctx context.Context, boardSet leaderboard.BoardSet, txs []leaderboard.Transaction) (err error) {
	calls := make([]scriptCall, len(txs))
	for i, tx := range txs {
		if calls[i], err = transactionCall(boardSet, tx); err != nil {
			return fmt.Errorf("commit leaderboards: %w", err)
		}
	}
	replies, err := s.runCalls(ctx, commitScript, calls)
	for i := 0; i < len(replies) && err == nil; i++ {
		var isApplied bool
		if isApplied, err = replies[i].Bool(); err == nil && !isApplied {
			return leaderboard.ErrStale
		}
	}
	return wrap("commit leaderboards", err)
}

func transactionCall(boardSet leaderboard.BoardSet, tx leaderboard.Transaction) (scriptCall, error) {
	writes := newWriteList(stateKey(boardSet), tx.ExpectedVersion, tx.Version)
	for _, change := range tx.Changes {
		writes.addWrite("SADD", boardsKey(boardSet), boardName(change.Board))
		writes.addChange(keysFor(boardSet, change.Board), change)
	}
	for _, day := range tx.DeletedDays {
		writes.addDayDeletion(boardSet, day)
	}
	state, err := stateFields(tx.Progress, tx.Loading, tx.PlannedAt)
	writes.addWrite("HSET", stateKey(boardSet), state...)
	return writes.call, err
}

// writeList collects the writes of a transaction as arguments for board_commit.lua.
type writeList struct {
	call    scriptCall
	indexes map[string]int // index of a key in KEYS, from 1
}

func newWriteList(state string, versions ...any) *writeList {
	return &writeList{call: scriptCall{keys: []string{state}, args: versions}, indexes: map[string]int{state: 1}}
}

func (w *writeList) addWrite(command, key string, args ...any) {
	if w.indexes[key] == 0 {
		w.call.keys = append(w.call.keys, key)
		w.indexes[key] = len(w.call.keys)
	}
	w.call.args = append(w.call.args, command, w.indexes[key], len(args))
	w.call.args = append(w.call.args, args...)
}

// maxWriteArgs is the number of arguments that board_commit.lua accepts for one write. It is even,
// so that addInChunks does not split pairs.
const maxWriteArgs = 1000

// addInChunks adds writes with at most maxWriteArgs arguments each. It adds none without
// arguments.
func (w *writeList) addInChunks(command, key string, args []any) {
	for chunk := range slices.Chunk(args, maxWriteArgs) {
		w.addWrite(command, key, chunk...)
	}
}

func (w *writeList) addChange(keys boardKeyPrefix, change leaderboard.Change) {
	put := make([]any, 0, 2*len(change.PutEntries))
	for _, entry := range change.PutEntries {
		put = append(put, entry.ID, packEntry(entry))
	}
	w.addInChunks("HSET", keys.entriesKey(), put)
	w.addInChunks("HDEL", keys.entriesKey(), appendTexts(nil, change.RemovedIDs))
	if change.AsOf > 0 {
		w.addWrite("HSET", keys.metaKey(), "as_of", change.AsOf)
	}
	for _, order := range leaderboard.Orders() {
		added := make([]any, 0, 2*len(change.AddedMembers[order]))
		for _, ranked := range change.AddedMembers[order] {
			added = append(added, formatKey(ranked.Key), ranked.Member)
		}
		w.addInChunks("ZREM", keys.rankingKey(order), appendTexts(nil, change.RemovedMembers[order]))
		w.addInChunks("ZADD", keys.rankingKey(order), added)
	}
}

func (w *writeList) addDayDeletion(boardSet leaderboard.BoardSet, day string) {
	for _, kind := range leaderboard.Kinds() {
		board := leaderboard.Board{Kind: kind, Span: day}
		for _, key := range keysFor(boardSet, board).allKeys() {
			w.addWrite("UNLINK", key)
		}
		w.addWrite("SREM", boardsKey(boardSet), boardName(board))
	}
}
