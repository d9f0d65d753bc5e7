package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

// maxReadTries is the maximum number of tries of a read. A read is repeated if the served
// board set, the open day or the served board of a rolling window has changed since this
// node last saw it.
const maxReadTries = 4

// corruptVersion is the version of a board set in which a transaction was interrupted by an
// error.
const corruptVersion = "torn"

// lastServed returns the board set of a configuration that this node last saw as served, with
// its state. It may be outdated, so every read checks it. Without an ID, nothing is served.
func (s *Boards) lastServed(game, configHash string) leaderboard.BoardSetState {
	known, _ := s.served.Load(leaderboard.BoardSet{Game: game, ConfigHash: configHash})
	state, _ := known.(leaderboard.BoardSetState)
	state.Game, state.ConfigHash = game, configHash
	return state
}

// ServedState implements leaderboard.BoardSetStore. It reads the state of the board set that
// this node last saw as served together with the served id, and repeats this if the ids differ.
func (s *Boards) ServedState(ctx context.Context, game, configHash string) (leaderboard.BoardSetState, error) {
	served := s.lastServed(game, configHash).BoardSet
	for {
		pipe := s.rdb.Pipeline()
		id, building := pipe.HGet(ctx, servedKey(game), configHash), pipe.HGet(ctx, buildingKey(game), configHash)
		fields := pipe.HGetAll(ctx, stateKey(served))
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return leaderboard.BoardSetState{BoardSet: served}, wrap("read the state of leaderboards", err)
		}
		if served.ID == id.Val() {
			state, err := parseState(served, fields.Val())
			state.PendingBuild = building.Val()
			s.served.Store(leaderboard.BoardSet{Game: game, ConfigHash: configHash}, state)
			return state, err
		}
		served.ID = id.Val()
	}
}

// runRead runs a read script on the served board of a ranking, with further arguments. It
// returns the state of the board and the other values of the reply. If the script finds that
// other boards are served, runRead reads what is served and runs the script again, at most
// maxReadTries times. Then it returns ErrNotReady.
func (s *Boards) runRead(ctx context.Context, script *redis.Script, rankingID leaderboard.RankingID, args ...any) (state leaderboard.BoardState, reply redisx.Reply, err error) {
	served := s.lastServed(rankingID.Game, rankingID.ConfigHash)
	for try := range maxReadTries {
		if try > 0 || served.ID == "" {
			if served, err = s.ServedState(ctx, rankingID.Game, rankingID.ConfigHash); err != nil {
				return state, nil, err
			}
		}
		if served.ID == "" {
			return state, nil, leaderboard.ErrNotReady
		}
		state, reply, err = s.tryRead(ctx, script, served, rankingID, args)
		if !redis.HasErrorPrefix(err, "STALE") {
			return state, reply, wrap("read leaderboard", err)
		}
	}
	return state, nil, leaderboard.ErrNotReady
}

// tryRead is runRead for the boards that this node last saw as served. Before the ledger's
// first row, the open day and rolling windows have no board. Then it reads one that does not
// exist.
func (s *Boards) tryRead(
	ctx context.Context, script *redis.Script, served leaderboard.BoardSetState, rankingID leaderboard.RankingID, args []any,
) (leaderboard.BoardState, redisx.Reply, error) {
	requested := rankingID.Board.Span
	field := spanField(served.Progress, requested)
	span, firstDay, isRolling := strings.Cut(field, " ")
	if !isRolling && requested != leaderboard.OpenDay {
		span = requested
	}
	k := keysFor(served.BoardSet, leaderboard.Board{Kind: rankingID.Board.Kind, Span: span})
	keys := []string{servedKey(served.Game), stateKey(served.BoardSet), k.rankingKey(rankingID.Order), k.entriesKey(), k.metaKey()}
	values, err := script.Run(ctx, s.rdb, keys, append([]any{served.ConfigHash, served.ID, requested, field}, args...)...).Slice()
	if err != nil {
		return leaderboard.BoardState{}, nil, err
	}
	reply := redisx.Reply(values)
	read := reply.List(0)
	state := leaderboard.BoardState{
		LedgerPos: read.Number(0), LedgerDay: read.Text(1), FirstDay: read.Text(2), OldestDay: read.Text(3),
		WindowFirstDay: firstDay, Span: requested, AsOf: read.Number(4), Total: read.Number(5),
	}
	if requested == leaderboard.OpenDay {
		state.Span = span
	}
	return state, reply[1:], nil
}
