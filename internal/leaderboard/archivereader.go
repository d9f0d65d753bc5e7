package leaderboard

import (
	"context"
	"errors"
)

// readSlice reads entries from a board, or from the archive if the day's boards were
// deleted.
func (r *Reader) readSlice(ctx context.Context, cfg Config, v View, c Cut) (Slice, error) {
	s, err := r.source.ReadSlice(ctx, v, c)
	if errors.Is(err, ErrNotRanked) && datePattern.MatchString(v.Board.Span) {
		// Deleted boards rank no entry, so check whether these were deleted.
		if s, err = r.source.ReadSlice(ctx, v, Cut{From: Top}); err == nil && !s.hasLeft(v) {
			return Slice{}, ErrNotRanked
		}
	}
	if err != nil || !s.hasLeft(v) {
		return s, err
	}
	past, err := r.archive.readRanking(ctx, cfg, v)
	if err != nil {
		return Slice{}, err
	}
	boards := s.BoardState
	s, err = past.slice(c)
	s.BoardState = past.boardState(boards, v.Board.Span)
	return s, err
}

// readStandings reads standings from a board, or from the archive if the day's boards
// were deleted.
func (r *Reader) readStandings(ctx context.Context, cfg Config, v View, ids []string) (StandingsResult, error) {
	answers, err := r.source.ReadStandings(ctx, []StandingsRequest{{View: v, IDs: ids}})
	if err != nil {
		return StandingsResult{}, err
	}
	p := answers[0]
	if !p.hasLeft(v) {
		return p, nil
	}
	past, err := r.archive.readRanking(ctx, cfg, v)
	if err != nil {
		return StandingsResult{}, err
	}
	return StandingsResult{BoardState: past.boardState(p.BoardState, v.Board.Span), Rows: past.standings(ids)}, nil
}

// areBoardsDeleted reports whether the requested span is a ledger day whose boards were
// deleted.
func (r BoardState) hasLeft(v View) bool {
	day := v.Board.Span
	return datePattern.MatchString(day) && r.First != "" && r.First <= day && day < r.Oldest
}
