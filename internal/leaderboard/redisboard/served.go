package redisboard

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

// servedState is the board set, open day and rolling boards that this node last saw as
// served, for one configuration. It may be outdated, so every read checks it.
type servedBoards struct {
	generation, day string
	packedRolling   string // JSON of rolling, as stored in Redis
	rolling         map[leaderboard.Window]leaderboard.RollingBoards
}

// lookUpServed returns the stored servedState for a configuration. If this node has none
// yet, it reads the served board set from Redis.
func (s *Store) lookUpServed(ctx context.Context, v leaderboard.View) (servedBoards, error) {
	key := configKey{v.Game, v.ConfigHash}
	s.mu.Lock()
	served, isKnown := s.served[key]
	s.mu.Unlock()
	if isKnown {
		return served, nil
	}
	gen, err := s.rdb.HGet(ctx, servedKey(v.Game), v.ConfigHash).Result()
	if errors.Is(err, redis.Nil) {
		return servedBoards{}, leaderboard.ErrNotReady
	}
	if err != nil {
		return servedBoards{}, fmt.Errorf("look up leaderboards: %w", err)
	}
	served = servedBoards{generation: gen}
	s.remember(v, served)
	return served, nil
}

func (s *Store) remember(v leaderboard.View, served servedBoards) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[configKey{v.Game, v.ConfigHash}] = served
}

// convertReadError converts the error of a read script. If the board set is no longer
// served, it removes the stored servedState and returns errServedChanged.
func (s *Store) readError(v leaderboard.View, err error) error {
	if !redis.HasErrorPrefix(err, "NOTREADY") {
		return fmt.Errorf("read leaderboard: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, configKey{v.Game, v.ConfigHash})
	return errMoved
}

// checkServed parses the first value of a read script's reply: the state of the served
// boards. If another board than expected is served, it returns errServedChanged, and the
// next read uses the new state.
func (s *Store) checkServed(v leaderboard.View, expected servedBoards, head any) (leaderboard.BoardState, error) {
	r := newReply([]any{head}).subReply()
	read := leaderboard.BoardState{Mark: r.mark(), First: r.text(), Oldest: r.text()}
	current := servedBoards{generation: expected.generation, day: read.Mark.Day, packedRolling: r.text(), rolling: expected.rolling}
	read.AsOf, read.Total = r.number(), r.number()
	if current.packedRolling != expected.packedRolling {
		var err error
		if current.rolling, err = unpackRolling(current.packedRolling); err != nil {
			return read, err
		}
	}
	if current.packedRolling != expected.packedRolling || current.day != expected.day {
		s.remember(v, current)
	}
	if current.span(v) != expected.span(v) {
		return read, errMoved
	}
	read.Span = v.Board.Span
	if read.Span == leaderboard.OpenDay {
		read.Span = current.day
	}
	if boards, isRolling := current.rollingBoards(v); isRolling {
		read.From = boards.FirstDay[boards.Served]
	}
	return read, r.err()
}

// span returns the span of the board to read. Before the ledger's first row, the open day
// and rolling windows have no board. Then the returned span belongs to no board.
func (n servedBoards) span(v leaderboard.View) string {
	if v.Board.Span == leaderboard.OpenDay {
		return n.day
	}
	if boards, isRolling := n.rollingBoards(v); isRolling {
		return leaderboard.RollingSpan(leaderboard.Window(v.Board.Span), boards.Served)
	}
	return v.Board.Span
}

func (n servedBoards) rollingBoards(v leaderboard.View) (leaderboard.RollingBoards, bool) {
	boards, isRolling := n.rolling[leaderboard.Window(v.Board.Span)]
	return boards, isRolling
}

// keys returns the KEYS arguments of ready.lua.
func (n servedBoards) keys(v leaderboard.View) []string {
	g := leaderboard.Generation{Game: v.Game, ConfigHash: v.ConfigHash, ID: n.generation}
	k := keysOf(g, leaderboard.Board{Kind: v.Board.Kind, Span: n.span(v)})
	return []string{stateKey(g), k.by(v.Ranking), k.parts(), k.meta()}
}
