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
type servedState struct {
	boardSetID, openDay string
	packedRolling       string // JSON of rolling, as stored in Redis
	rolling             map[leaderboard.Window]leaderboard.RollingBoards
}

// lookUpServed returns the stored servedState for a configuration. If this node has none
// yet, it reads the served board set from Redis.
func (s *Store) lookUpServed(ctx context.Context, rankingID leaderboard.RankingID) (servedState, error) {
	key := configKey{rankingID.Game, rankingID.ConfigHash}
	if known, isKnown := s.served.Load(key); isKnown {
		return known.(servedState), nil
	}
	id, err := s.rdb.HGet(ctx, servedKey(rankingID.Game), rankingID.ConfigHash).Result()
	if errors.Is(err, redis.Nil) {
		return servedState{}, leaderboard.ErrNotReady
	}
	if err != nil {
		return servedState{}, fmt.Errorf("look up leaderboards: %w", err)
	}
	served := servedState{boardSetID: id}
	s.served.Store(key, served)
	return served, nil
}

// convertReadError converts the error of a read script. If the board set is no longer
// served, it removes the stored servedState and returns errServedChanged.
func (s *Store) convertReadError(rankingID leaderboard.RankingID, err error) error {
	if !redis.HasErrorPrefix(err, "NOTREADY") {
		return fmt.Errorf("read leaderboard: %w", err)
	}
	s.served.Delete(configKey{rankingID.Game, rankingID.ConfigHash})
	return errServedChanged
}

// checkServed parses the first value of a read script's reply: the state of the served
// boards. If another board than expected is served, it returns errServedChanged, and the
// next read uses the new state.
func (s *Store) checkServed(rankingID leaderboard.RankingID, expected servedState, stateReply any) (leaderboard.BoardState, error) {
	reply := newReply([]any{stateReply}).subReply()
	state := leaderboard.BoardState{Watermark: reply.mark(), FirstDay: reply.text(), OldestDay: reply.text()}
	current := servedState{boardSetID: expected.boardSetID, openDay: state.Watermark.Day, packedRolling: reply.text(), rolling: expected.rolling}
	state.AsOf, state.Total = reply.number(), reply.number()
	if current.packedRolling != expected.packedRolling {
		var err error
		if current.rolling, err = unpackRolling(current.packedRolling); err != nil {
			return state, err
		}
	}
	if current.packedRolling != expected.packedRolling || current.openDay != expected.openDay {
		s.served.Store(configKey{rankingID.Game, rankingID.ConfigHash}, current)
	}
	if current.span(rankingID) != expected.span(rankingID) {
		return state, errServedChanged
	}
	state.Span = rankingID.Board.Span
	if state.Span == leaderboard.OpenDay {
		state.Span = current.openDay
	}
	if boards, isRolling := current.rollingBoards(rankingID); isRolling {
		state.WindowFirstDay = boards.FirstDays[boards.Served]
	}
	return state, reply.err()
}

// span returns the span of the board to read. Before the ledger's first row, the open day
// and rolling windows have no board. Then the returned span belongs to no board.
func (s servedState) span(rankingID leaderboard.RankingID) string {
	if rankingID.Board.Span == leaderboard.OpenDay {
		return s.openDay
	}
	if boards, isRolling := s.rollingBoards(rankingID); isRolling {
		return leaderboard.RollingSpan(leaderboard.Window(rankingID.Board.Span), boards.Served)
	}
	return rankingID.Board.Span
}

func (s servedState) rollingBoards(rankingID leaderboard.RankingID) (leaderboard.RollingBoards, bool) {
	boards, isRolling := s.rolling[leaderboard.Window(rankingID.Board.Span)]
	return boards, isRolling
}

// keys returns the KEYS arguments of the read scripts.
func (s servedState) keys(rankingID leaderboard.RankingID) []string {
	boardSet := leaderboard.BoardSet{Game: rankingID.Game, ConfigHash: rankingID.ConfigHash, ID: s.boardSetID}
	k := keysFor(boardSet, leaderboard.Board{Kind: rankingID.Board.Kind, Span: s.span(rankingID)})
	return []string{servedKey(rankingID.Game), stateKey(boardSet), k.rankingKey(rankingID.Order), k.entriesKey(), k.metaKey()}
}
