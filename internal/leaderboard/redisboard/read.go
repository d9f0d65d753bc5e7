package redisboard

import (
	"context"
	"errors"
	"fmt"

	_ "embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

//go:embed ready.lua
var readyLua string

//go:embed page.lua
var pageLua string

//go:embed top.lua
var topLua string

//go:embed around.lua
var aroundLua string

//go:embed edge.lua
var edgeLua string

//go:embed standings.lua
var standingsLua string

var (
	topScript       = script(readyLua, topLua, pageLua)
	aroundScript    = script(readyLua, aroundLua, pageLua)
	edgeScript      = script(readyLua, edgeLua, pageLua)
	standingsScript = script(readyLua, standingsLua)
)

// maxReadTries is the maximum number of tries of a read. A read is repeated if the served
// board set, the open day or the served board of a rolling window has changed since this
// node last saw it.
const readTries = 4

// errServedChanged means that another board set or board is served than expected, or that a
// new day is open. The caller must read again.
var errMoved = errors.New("another board set, day or board is served")

// ReadSlice implements leaderboard.RankingSource. With CachePages, callers share the slices
// and must not change them.
func (s *Store) ReadSlice(ctx context.Context, v leaderboard.View, c leaderboard.Cut) (leaderboard.Slice, error) {
	if s.pages == nil {
		return s.readSlice(ctx, v, c)
	}
	return s.pages.get(ctx, pageKey{v, c}, func() (leaderboard.Slice, error) { return s.readSlice(ctx, v, c) })
}

func (s *Store) readSlice(ctx context.Context, v leaderboard.View, c leaderboard.Cut) (slice leaderboard.Slice, err error) {
	sc, args := cutScript(c)
	err = s.retryWhileMoved(func() error {
		served, err := s.lookUpServed(ctx, v)
		if err != nil {
			return err
		}
		values, err := sc.Run(ctx, s.rdb, served.keys(v), args...).Slice()
		if err != nil {
			return s.readError(v, err)
		}
		read, err := s.checkServed(v, served, values[0])
		if err != nil {
			return err
		}
		slice = leaderboard.Slice{}
		if len(values) == 1 {
			err = leaderboard.ErrNotRanked
		} else {
			slice, err = parseSlice(values[1:])
		}
		slice.BoardState = read
		return err
	})
	return slice, err
}

func cutScript(c leaderboard.Cut) (*redis.Script, []any) {
	switch c.From {
	case leaderboard.Around:
		return aroundScript, []any{c.Limit, c.ID}
	case leaderboard.After, leaderboard.Since, leaderboard.Before, leaderboard.Until:
		return edgeScript, []any{c.Limit, string(c.From), formatKey(c.Edge.Key), c.Edge.Member}
	}
	return topScript, []any{c.Limit}
}

// ReadStandings implements leaderboard.RankingSource.
func (s *Store) ReadStandings(ctx context.Context, requests []leaderboard.StandingsRequest) (results []leaderboard.StandingsResult, err error) {
	err = s.retryWhileMoved(func() error {
		results, err = s.readStandings(ctx, requests)
		return err
	})
	return results, err
}

func (s *Store) readStandings(ctx context.Context, requests []leaderboard.StandingsRequest) ([]leaderboard.StandingsResult, error) {
	served := make([]servedBoards, len(requests))
	calls := make([]call, len(requests))
	for i, request := range requests {
		current, err := s.lookUpServed(ctx, request.View)
		if err != nil {
			return nil, err
		}
		served[i], calls[i] = current, call{keys: current.keys(request.View), args: standingsArgs(request)}
	}
	replies, err := s.runAll(ctx, standingsScript, calls)
	if err != nil {
		return nil, fmt.Errorf("read leaderboard: %w", err)
	}
	results := make([]leaderboard.StandingsResult, len(requests))
	for i, request := range requests {
		values, err := replies[i].Slice()
		if err != nil {
			return nil, s.readError(request.View, err)
		}
		if results[i].BoardState, err = s.checkServed(request.View, served[i], values[0]); err != nil {
			return nil, err
		}
		if results[i].Rows, err = parseStandings(values[1:]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func standingsArgs(request leaderboard.StandingsRequest) []any {
	return appendTexts([]any{request.WithNext, request.WithTie}, request.IDs)
}

// retryWhileChanged repeats a read while it returns errServedChanged, at most maxReadTries
// times. Then it returns ErrNotReady.
func (s *Store) retryWhileMoved(read func() error) error {
	for range readTries {
		if err := read(); !errors.Is(err, errMoved) {
			return err
		}
	}
	return leaderboard.ErrNotReady
}
