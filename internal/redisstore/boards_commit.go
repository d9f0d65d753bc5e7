package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

var commitScript = newScript("board_commit")

// Commit implements leaderboard.EntryStore. A transaction blocks Redis for a few
// microseconds per entry and member. The second transaction and those after it share a round
// trip: the server knows the script after the first one.
func (s *Boards) Commit(ctx context.Context, boardSet leaderboard.BoardSet, txs []leaderboard.Transaction) (err error) {
	calls := make([]scriptCall, len(txs))
	for i, tx := range txs {
		if calls[i], err = transactionCall(boardSet, tx); err != nil {
			return fmt.Errorf("commit leaderboards: %w", err)
		}
	}
	replies := []*redis.Cmd{commitScript.Run(ctx, s.rdb, calls[0].keys, calls[0].args...)}
	// Pipelined returns the first error of the replies, so it can be ignored here.
	_, _ = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, call := range calls[1:] {
			replies = append(replies, commitScript.EvalSha(ctx, pipe, call.keys, call.args...))
		}
		return nil
	})
	for _, reply := range replies {
		isApplied, err := reply.Bool()
		if err != nil {
			return fmt.Errorf("commit leaderboards: %w", err)
		}
		if !isApplied {
			return leaderboard.ErrStale
		}
	}
	return nil
}

func transactionCall(boardSet leaderboard.BoardSet, tx leaderboard.Transaction) (scriptCall, error) {
	orders := tx.Config.RankingOrders()
	call := scriptCall{keys: []string{stateKey(boardSet), boardsKey(boardSet)}, args: []any{tx.ExpectedVersion, tx.Version, len(orders), len(tx.Changes)}}
	for board, change := range tx.Changes {
		keys := keysFor(boardSet, board)
		call.keys = append(append(call.keys, keys.metaKey()), keys.readKeys(orders)...)
		call.args = append(call.args, boardName(board), change.AsOf, len(change.Entries))
		call.addEntries(change.Entries, orders, tx.Config)
	}
	call.addDeletions(boardSet, tx.DeletedDays)
	state, err := stateFields(tx.Progress, tx.Loading, tx.PlannedAt)
	call.args = append(call.args, state...)
	return call, err
}

// addEntries adds the arguments of changed entries.
func (c *scriptCall) addEntries(entries map[string]leaderboard.BoardEntry, orders []leaderboard.Order, cfg leaderboard.Config) {
	c.args = slices.Grow(c.args, len(entries)*(2+len(orders)))
	for id, entry := range entries {
		packed := ""
		if entry.Aggregates.Matches > 0 {
			packed = packEntry(entry)
		}
		c.args = append(c.args, id, packed)
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
