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

// configKey identifies the boards of one configuration of a game.
type configKey struct{ game, hash string }

// servedBoards is what this node last saw as served for a configuration: the board set, and
// the fields of its state. It may be outdated, so every read checks it. Without an ID,
// nothing is served.
type servedBoards struct {
	leaderboard.BoardSet
	state map[string]string
}

// readServed reads the served board set and its state, and what is being built. It reads the
// state of the board set that this node last saw as served together with the served id, and
// repeats this if the ids differ.
func (s *Boards) readServed(ctx context.Context, key configKey) (served servedBoards, pendingBuild string, err error) {
	known, _ := s.served.Load(key)
	served, _ = known.(servedBoards)
	served.Game, served.ConfigHash = key.game, key.hash
	for {
		pipe := s.rdb.Pipeline()
		id, building := pipe.HGet(ctx, servedKey(key.game), key.hash), pipe.HGet(ctx, buildingKey(key.game), key.hash)
		state := pipe.HGetAll(ctx, stateKey(served.BoardSet))
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return served, "", wrap("read the state of leaderboards", err)
		}
		if served.ID == id.Val() {
			served.state = state.Val()
			s.served.Store(key, served)
			return served, building.Val(), nil
		}
		served.ID = id.Val()
	}
}

// ServedState implements leaderboard.BoardSetStore.
func (s *Boards) ServedState(ctx context.Context, game, configHash string) (leaderboard.BoardSetState, error) {
	served, pendingBuild, err := s.readServed(ctx, configKey{game, configHash})
	state := leaderboard.BoardSetState{BoardSet: served.BoardSet, PendingBuild: pendingBuild}
	version := served.state["version"]
	if err != nil || version == "" || version == corruptVersion {
		return state, err
	}
	state.Version, state.Loading = version, served.state["loading"] == "1"
	state.Progress, err = parseProgress(served.state["progress"])
	return state, err
}

// withServed calls read with the served boards of a ranking's configuration. If the script
// finds that other boards are served, withServed reads what is served and calls read again, at
// most maxReadTries times. Then it returns ErrNotReady.
func (s *Boards) withServed(ctx context.Context, rankingID leaderboard.RankingID, read func(servedBoards) error) error {
	key := configKey{rankingID.Game, rankingID.ConfigHash}
	known, _ := s.served.Load(key)
	served, _ := known.(servedBoards)
	for try := range maxReadTries {
		if try > 0 || served.ID == "" {
			var err error
			if served, _, err = s.readServed(ctx, key); err != nil {
				return err
			}
		}
		if served.ID == "" {
			return leaderboard.ErrNotReady
		}
		if err := read(served); !redis.HasErrorPrefix(err, "STALE") {
			return wrap("read leaderboard", err)
		}
	}
	return leaderboard.ErrNotReady
}

// span returns the span of the board to read, and the first day of a rolling board. Before
// the ledger's first row, the open day and rolling windows have no board. Then the returned
// span belongs to no board.
func (s servedBoards) span(requested string) (span, firstDay string) {
	if field := s.state[spanFieldPrefix+requested]; field != "" {
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
	requested := rankingID.Board.Span
	span, _ := s.span(requested)
	k := keysFor(s.BoardSet, leaderboard.Board{Kind: rankingID.Board.Kind, Span: span})
	return scriptCall{
		keys: []string{servedKey(s.Game), stateKey(s.BoardSet), k.rankingKey(rankingID.Order), k.entriesKey(), k.metaKey()},
		args: []any{s.ConfigHash, s.ID, requested, s.state[spanFieldPrefix+requested]},
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
