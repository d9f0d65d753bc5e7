package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

// servedBoards is what this node last saw as served for a configuration: the board set, and
// the fields of its state. It may be outdated, so every read checks it.
type servedBoards struct {
	boardSetID string
	fields     map[string]string
}

// lookUpServed returns the stored servedBoards of a configuration. If this node has none, it
// reads them from Redis.
func (s *Boards) lookUpServed(ctx context.Context, rankingID leaderboard.RankingID) (servedBoards, error) {
	key := configKey{rankingID.Game, rankingID.ConfigHash}
	if known, isKnown := s.served.Load(key); isKnown {
		return known.(servedBoards), nil
	}
	id, err := s.rdb.HGet(ctx, servedKey(rankingID.Game), rankingID.ConfigHash).Result()
	if errors.Is(err, redis.Nil) {
		return servedBoards{}, leaderboard.ErrNotReady
	}
	if err != nil {
		return servedBoards{}, err
	}
	fields, err := s.rdb.HGetAll(ctx, stateKey(leaderboard.BoardSet{Game: rankingID.Game, ID: id})).Result()
	if err != nil {
		return servedBoards{}, err
	}
	served := servedBoards{id, fields}
	s.served.Store(key, served)
	return served, nil
}

// span returns the span of the board to read, and the first day of a rolling board. Before
// the ledger's first row, the open day and rolling windows have no board. Then the returned
// span belongs to no board.
func (s servedBoards) span(requested string) (span, firstDay string) {
	if field := s.fields[spanFieldPrefix+requested]; field != "" {
		span, firstDay, _ = strings.Cut(field, " ")
		return span, firstDay
	}
	if requested == leaderboard.OpenDay {
		return "", ""
	}
	return requested, ""
}

// call returns the KEYS of the read scripts, and their first ARGV.
func (s servedBoards) call(rankingID leaderboard.RankingID) scriptCall {
	boardSet := leaderboard.BoardSet{Game: rankingID.Game, ConfigHash: rankingID.ConfigHash, ID: s.boardSetID}
	requested := rankingID.Board.Span
	span, _ := s.span(requested)
	k := keysFor(boardSet, leaderboard.Board{Kind: rankingID.Board.Kind, Span: span})
	return scriptCall{
		keys: []string{servedKey(rankingID.Game), stateKey(boardSet), k.rankingKey(rankingID.Order), k.entriesKey(), k.metaKey()},
		args: []any{rankingID.ConfigHash, s.boardSetID, requested, s.fields[spanFieldPrefix+requested]},
	}
}

// boardState parses the first value of a read script's reply.
func (s servedBoards) boardState(requested string, reply redisx.Reply) leaderboard.BoardState {
	state := leaderboard.BoardState{
		LedgerPos: reply.Number(0), LedgerDay: reply.Text(1), FirstDay: reply.Text(2), OldestDay: reply.Text(3),
		Span: requested, AsOf: reply.Number(4), Total: reply.Number(5),
	}
	span, firstDay := s.span(requested)
	if requested == leaderboard.OpenDay {
		state.Span = span
	}
	state.WindowFirstDay = firstDay
	return state
}
