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

//go:embed places.lua
var placesLua string

var (
	topScript    = script(readyLua, topLua, pageLua)
	aroundScript = script(readyLua, aroundLua, pageLua)
	edgeScript   = script(readyLua, edgeLua, pageLua)
	placesScript = script(readyLua, placesLua)
)

// A read is tried again when what this node took for served has changed: the
// generation, and the day or the board of a window. Each can happen once at a time.
const readTries = 4

// errMoved asks to look up what is served and to read again.
var errMoved = errors.New("another generation, day or board is served")

// Slice implements leaderboard.Source. Callers share what CachePages keeps and
// do not change it.
func (s *Store) Slice(ctx context.Context, v leaderboard.View, c leaderboard.Cut) (leaderboard.Slice, error) {
	if s.pages == nil {
		return s.slice(ctx, v, c)
	}
	return s.pages.get(ctx, pageOf{v, c}, func() (leaderboard.Slice, error) { return s.slice(ctx, v, c) })
}

func (s *Store) slice(ctx context.Context, v leaderboard.View, c leaderboard.Cut) (slice leaderboard.Slice, err error) {
	sc, args := cutScript(c)
	err = s.whileMoving(func() error {
		at, err := s.find(ctx, v)
		if err != nil {
			return err
		}
		values, err := sc.Run(ctx, s.rdb, at.keys(v), args...).Slice()
		if err != nil {
			return s.failed(v, err)
		}
		read, err := s.settle(v, at, values[0])
		if err != nil {
			return err
		}
		slice = leaderboard.Slice{}
		if len(values) == 1 {
			err = leaderboard.ErrNotRanked
		} else {
			slice, err = readSlice(values[1:])
		}
		slice.Read = read
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

// Places implements leaderboard.Source.
func (s *Store) Places(ctx context.Context, asks []leaderboard.Ask) (places []leaderboard.Places, err error) {
	err = s.whileMoving(func() error {
		places, err = s.places(ctx, asks)
		return err
	})
	return places, err
}

func (s *Store) places(ctx context.Context, asks []leaderboard.Ask) ([]leaderboard.Places, error) {
	ats := make([]servedNow, len(asks))
	calls := make([]call, len(asks))
	for i, ask := range asks {
		at, err := s.find(ctx, ask.View)
		if err != nil {
			return nil, err
		}
		ats[i], calls[i] = at, call{keys: at.keys(ask.View), args: placesArgs(ask)}
	}
	replies, err := s.runAll(ctx, placesScript, calls)
	if err != nil {
		return nil, fmt.Errorf("read leaderboard: %w", err)
	}
	places := make([]leaderboard.Places, len(asks))
	for i, ask := range asks {
		values, err := replies[i].Slice()
		if err != nil {
			return nil, s.failed(ask.View, err)
		}
		if places[i].Read, err = s.settle(ask.View, ats[i], values[0]); err != nil {
			return nil, err
		}
		if places[i].Rows, err = readPlaces(values[1:]); err != nil {
			return nil, err
		}
	}
	return places, nil
}

func placesArgs(ask leaderboard.Ask) []any {
	return appendAll([]any{ask.Next, ask.Tie}, ask.IDs)
}

// whileMoving repeats a read while it is told that what is served moved.
func (s *Store) whileMoving(read func() error) error {
	for range readTries {
		if err := read(); !errors.Is(err, errMoved) {
			return err
		}
	}
	return leaderboard.ErrNotReady
}
