package redisboard

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

// servedNow is what this node last saw served. It may be out of date: every
// read checks it.
type servedNow struct {
	gen, day string
	packed   string // rolls as Redis holds them
	rolls    map[leaderboard.Window]leaderboard.Roll
}

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
	at = servedNow{gen: gen}
	s.learn(v, at)
	return at, nil
}

func (s *Store) learn(v leaderboard.View, at servedNow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[formOf{v.Game, v.Form}] = at
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

// settle reads the head of a reading script's reply, which tells what is
// served. It returns errMoved where another board was meant than that of at.
func (s *Store) settle(v leaderboard.View, at servedNow, head any) (leaderboard.Read, error) {
	r := newReply([]any{head}).inner()
	read := leaderboard.Read{Mark: r.mark(), First: r.text(), Oldest: r.text()}
	now := servedNow{gen: at.gen, day: read.Mark.Day, packed: r.text(), rolls: at.rolls}
	read.AsOf, read.Total = r.number(), r.number()
	if now.packed != at.packed {
		var err error
		if now.rolls, err = unpackRolls(now.packed); err != nil {
			return read, err
		}
	}
	if now.packed != at.packed || now.day != at.day {
		s.learn(v, now)
	}
	if now.span(v) != at.span(v) {
		return read, errMoved
	}
	read.Span = v.Board.Span
	if read.Span == leaderboard.OpenDay {
		read.Span = now.day
	}
	if roll, rolling := now.roll(v); rolling {
		read.From = roll.Lo[roll.Served]
	}
	return read, r.err()
}

// span is that of the board to read. Before the first row there is none for
// the open day and for a rolling window: it is one without a board then.
func (n servedNow) span(v leaderboard.View) string {
	if v.Board.Span == leaderboard.OpenDay {
		return n.day
	}
	if roll, rolling := n.roll(v); rolling {
		return leaderboard.Slot(leaderboard.Window(v.Board.Span), roll.Served)
	}
	return v.Board.Span
}

func (n servedNow) roll(v leaderboard.View) (leaderboard.Roll, bool) {
	roll, rolling := n.rolls[leaderboard.Window(v.Board.Span)]
	return roll, rolling
}

// keys are those of ready.lua.
func (n servedNow) keys(v leaderboard.View) []string {
	g := leaderboard.Generation{Game: v.Game, Form: v.Form, ID: n.gen}
	k := keysOf(g, leaderboard.Board{Kind: v.Board.Kind, Span: n.span(v)})
	return []string{stateKey(g), k.by(v.Ranking), k.parts(), k.meta()}
}
