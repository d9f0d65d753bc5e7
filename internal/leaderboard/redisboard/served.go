package redisboard

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

// find says what is served for a view, as this node last saw it, or else asks.
func (s *Store) find(ctx context.Context, v leaderboard.View) (servedNow, error) {
	key := formOf{v.Game, v.Form}
	s.mu.Lock()
	at, known := s.served[key]
	s.mu.Unlock()
	if known {
		return at, nil
	}
	gen, err := s.rdb.HGet(ctx, servedKey(v.Game), v.Form).Result()
	if errors.Is(err, redis.Nil) {
		return servedNow{}, leaderboard.ErrNotReady
	}
	if err != nil {
		return servedNow{}, fmt.Errorf("find leaderboards: %w", err)
	}
	return s.learn(v, servedNow{gen: gen}), nil
}

func (s *Store) learn(v leaderboard.View, at servedNow) servedNow {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[formOf{v.Game, v.Form}] = at
	return at
}

// failed turns a reading script's error into errMoved where the generation is
// not served any more.
func (s *Store) failed(v leaderboard.View, err error) error {
	if !redis.HasErrorPrefix(err, "NOTREADY") {
		return fmt.Errorf("read leaderboard: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, formOf{v.Game, v.Form})
	return errMoved
}

// settle fills in which span was read, and returns errMoved where the open day
// was asked for and another one read.
func (s *Store) settle(v leaderboard.View, at servedNow, read *leaderboard.Read) error {
	read.Span = at.span(v)
	if v.Board.Span != leaderboard.OpenDay || read.Mark.Day == at.day {
		return nil
	}
	s.learn(v, servedNow{gen: at.gen, day: read.Mark.Day})
	return errMoved
}

// span is a view's, with the open day resolved; empty before the first row.
func (n servedNow) span(v leaderboard.View) string {
	if v.Board.Span == leaderboard.OpenDay {
		return n.day
	}
	return v.Board.Span
}

// keys are those of ready.lua.
func (n servedNow) keys(v leaderboard.View) []string {
	k := keysOf(v.Game, n.gen, leaderboard.Board{Kind: v.Board.Kind, Span: n.span(v)})
	return []string{stateKey(v.Game, n.gen), k.by(v.Ranking), k.parts(), k.meta()}
}
