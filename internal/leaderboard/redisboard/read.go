package redisboard

import (
	"context"
	"errors"
	"fmt"

	"laststand/internal/leaderboard"
)

var (
	readSliceScript = newScript("board_state", "read_slice")
	standingsScript = newScript("board_state", "standings")
)

// maxReadTries is the maximum number of tries of a read. A read is repeated if the served
// board set, the open day or the served board of a rolling window has changed since this
// node last saw it.
const maxReadTries = 4

// errServedChanged means that another board set or board is served than expected, or that a
// new day is open. The caller must read again.
var errServedChanged = errors.New("another board set, day or board is served")

// ReadSlice implements leaderboard.RankingSource.
func (s *Store) ReadSlice(ctx context.Context, rankingID leaderboard.RankingID, request leaderboard.SliceRequest) (slice leaderboard.RankingSlice, err error) {
	err = s.retryWhileChanged(func() error {
		served, err := s.lookUpServed(ctx, rankingID)
		if err != nil {
			return err
		}
		values, err := readSliceScript.Run(ctx, s.rdb, served.keys(rankingID), sliceArgs(rankingID, served, request)...).Slice()
		if err != nil {
			return s.convertReadError(rankingID, err)
		}
		state, err := s.checkServed(rankingID, served, values[0])
		if err != nil {
			return err
		}
		slice = leaderboard.RankingSlice{}
		if len(values) == 1 {
			err = leaderboard.ErrNotRanked
		} else {
			slice, err = parseSlice(values[1:])
		}
		slice.BoardState = state
		return err
	})
	return slice, err
}

func sliceArgs(rankingID leaderboard.RankingID, served servedState, request leaderboard.SliceRequest) []any {
	args := []any{rankingID.ConfigHash, served.boardSetID, request.Limit, string(request.Anchor)}
	switch request.Anchor {
	case leaderboard.Top:
		return args
	case leaderboard.Around:
		return append(args, request.ID)
	}
	return append(args, formatKey(request.Edge.Key), request.Edge.Member)
}

// ReadStandings implements leaderboard.RankingSource.
func (s *Store) ReadStandings(ctx context.Context, requests []leaderboard.StandingsRequest) (results []leaderboard.StandingsResult, err error) {
	err = s.retryWhileChanged(func() error {
		results, err = s.readStandings(ctx, requests)
		return err
	})
	return results, err
}

func (s *Store) readStandings(ctx context.Context, requests []leaderboard.StandingsRequest) ([]leaderboard.StandingsResult, error) {
	served := make([]servedState, len(requests))
	calls := make([]scriptCall, len(requests))
	for i, request := range requests {
		known, err := s.lookUpServed(ctx, request.RankingID)
		if err != nil {
			return nil, err
		}
		served[i], calls[i] = known, scriptCall{keys: known.keys(request.RankingID), args: standingsArgs(known, request)}
	}
	replies, err := s.runCalls(ctx, standingsScript, calls)
	if err != nil {
		return nil, fmt.Errorf("read leaderboard: %w", err)
	}
	results := make([]leaderboard.StandingsResult, len(requests))
	for i, request := range requests {
		values, err := replies[i].Slice()
		if err != nil {
			return nil, s.convertReadError(request.RankingID, err)
		}
		if results[i].BoardState, err = s.checkServed(request.RankingID, served[i], values[0]); err != nil {
			return nil, err
		}
		if results[i].Entries, err = parseStandings(values[1:]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func standingsArgs(served servedState, request leaderboard.StandingsRequest) []any {
	return appendTexts([]any{request.RankingID.ConfigHash, served.boardSetID, request.WithNextKey, request.WithTie}, request.IDs)
}

// retryWhileChanged repeats a read while it returns errServedChanged, at most maxReadTries
// times. Then it returns ErrNotReady.
func (s *Store) retryWhileChanged(read func() error) error {
	for range maxReadTries {
		if err := read(); !errors.Is(err, errServedChanged) {
			return err
		}
	}
	return leaderboard.ErrNotReady
}
