package leaderboard

import (
	"context"
	"errors"
)

// slice cuts a board, or the archive's of a day whose boards have left.
func (r *Reader) slice(ctx context.Context, cfg Config, v View, c Cut) (Slice, error) {
	s, err := r.source.Slice(ctx, v, c)
	if errors.Is(err, ErrNotRanked) && dateForm.MatchString(v.Board.Span) {
		// Nobody is ranked on boards that have left, so look which have.
		if s, err = r.source.Slice(ctx, v, Cut{From: Top}); err == nil && !s.left(v) {
			return Slice{}, ErrNotRanked
		}
	}
	if err != nil || !s.left(v) {
		return s, err
	}
	past, err := r.archive.ranking(ctx, cfg, v)
	if err != nil {
		return Slice{}, err
	}
	boards := s.Read
	s, err = past.slice(c)
	s.Read = past.frame(boards, v.Board.Span)
	return s, err
}

// places asks a board, or the archive where its day has left the boards.
func (r *Reader) places(ctx context.Context, cfg Config, v View, ids []string) (Places, error) {
	answers, err := r.source.Places(ctx, []Ask{{View: v, IDs: ids}})
	if err != nil {
		return Places{}, err
	}
	p := answers[0]
	if !p.left(v) {
		return p, nil
	}
	past, err := r.archive.ranking(ctx, cfg, v)
	if err != nil {
		return Places{}, err
	}
	return Places{Read: past.frame(p.Read, v.Board.Span), Rows: past.places(ids)}, nil
}

// left reports whether a view is of a ledger day that no boards are kept of
// any more.
func (r Read) left(v View) bool {
	day := v.Board.Span
	return dateForm.MatchString(day) && r.First != "" && r.First <= day && day < r.Oldest
}
