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

// maxChangeEntries is the number of entries that board_commit.lua accepts for one change.
const maxChangeEntries = 400

func transactionCall(boardSet leaderboard.BoardSet, tx leaderboard.Transaction) (scriptCall, error) {
	orders, changes := tx.Config.RankingOrders(), 0
	call := scriptCall{keys: []string{stateKey(boardSet), boardsKey(boardSet)}, args: []any{tx.ExpectedVersion, tx.Version, len(orders), 0}}
	for _, change := range tx.Changes {
		for entries := range slices.Chunk(change.Entries, maxChangeEntries) {
			change.Entries = entries
			call.addChange(boardSet, change, orders, tx.Config)
			changes++
		}
	}
	call.args[3] = changes
	call.addDeletions(boardSet, tx.DeletedDays)
	state, err := stateFields(tx.Progress, tx.Loading, tx.PlannedAt)
	call.args = append(call.args, state...)
	return call, err
}

// addChange adds the keys and arguments of a change.
func (c *scriptCall) addChange(boardSet leaderboard.BoardSet, change leaderboard.Change, orders []leaderboard.Order, cfg leaderboard.Config) {
	keys := keysFor(boardSet, change.Board)
	c.keys = append(c.keys, keys.entriesKey(), keys.metaKey())
	for _, order := range orders {
		c.keys = append(c.keys, keys.rankingKey(order))
	}
	c.args = slices.Grow(c.args, 3+len(change.Entries)*(2+len(orders)))
	c.args = append(c.args, boardName(change.Board), change.AsOf, len(change.Entries))
	for _, entry := range change.Entries {
		packed := ""
		if entry.Aggregates.Matches > 0 {
			packed = packEntry(entry)
		}
		c.args = append(c.args, entry.ID, packed)
		for _, order := range orders {
			var key any = ""
			if packed != "" && leaderboard.Rankable(order, entry.Aggregates, cfg.MinAnswers) {
				key = leaderboard.Key(order, entry.Aggregates, cfg.Weights)
			}
			c.args = append(c.args, key)
		}
	}
}

// addDeletions adds the keys and names of the boards of deleted days.
func (c *scriptCall) addDeletions(boardSet leaderboard.BoardSet, days []string) {
	var names []any
	for _, day := range days {
		for _, kind := range leaderboard.Kinds() {
			board := leaderboard.Board{Kind: kind, Span: day}
			c.keys = append(c.keys, keysFor(boardSet, board).allKeys()...)
			names = append(names, boardName(board))
		}
	}
	c.args = append(append(c.args, len(names)), names...)
}
