package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

var (
	readSliceScript = newScript("board_state", "board_read_slice")
	standingsScript = newScript("board_state", "board_standings")
)

// maxReadTries is the maximum number of tries of a read. A read is repeated if the served
// board set, the open day or the served board of a rolling window has changed since this
// node last saw it.
const maxReadTries = 4

// ReadSlice implements leaderboard.RankingSource.
func (s *Boards) ReadSlice(ctx context.Context, rankingID leaderboard.RankingID, request leaderboard.SliceRequest) (slice leaderboard.RankingSlice, err error) {
	err = s.retryWhileStale(rankingID, func() error {
		slice, err = s.readSlice(ctx, rankingID, request)
		return err
	})
	return slice, err
}

func (s *Boards) readSlice(ctx context.Context, rankingID leaderboard.RankingID, request leaderboard.SliceRequest) (leaderboard.RankingSlice, error) {
	served, err := s.lookUpServed(ctx, rankingID)
	if err != nil {
		return leaderboard.RankingSlice{}, err
	}
	call := served.call(rankingID)
	call.args = append(call.args, request.Limit, string(request.Anchor))
	switch request.Anchor {
	case leaderboard.Around:
		call.args = append(call.args, request.ID)
	case leaderboard.After, leaderboard.Before:
		call.args = append(call.args, formatKey(request.Edge.Key), request.Edge.Member)
	}
	values, err := readSliceScript.Run(ctx, s.rdb, call.keys, call.args...).Slice()
	if err != nil {
		return leaderboard.RankingSlice{}, err
	}
	reply := redisx.Reply(values)
	state := served.boardState(rankingID.Board.Span, reply.List(0))
	if len(values) == 1 {
		return leaderboard.RankingSlice{BoardState: state}, leaderboard.ErrNotRanked
	}
	slice, err := parseSlice(reply[1:])
	slice.BoardState = state
	return slice, err
}

// ReadStandings implements leaderboard.RankingSource. All requests are for one configuration.
func (s *Boards) ReadStandings(ctx context.Context, requests []leaderboard.StandingsRequest) (results []leaderboard.StandingsResult, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	err = s.retryWhileStale(requests[0].RankingID, func() error {
		results, err = s.readStandings(ctx, requests)
		return err
	})
	return results, err
}

func (s *Boards) readStandings(ctx context.Context, requests []leaderboard.StandingsRequest) ([]leaderboard.StandingsResult, error) {
	served, err := s.lookUpServed(ctx, requests[0].RankingID)
	if err != nil {
		return nil, err
	}
	calls := make([]scriptCall, len(requests))
	for i, request := range requests {
		calls[i] = served.call(request.RankingID)
		calls[i].args = appendTexts(append(calls[i].args, request.WithNextKey, request.WithTie), request.IDs)
	}
	replies, err := s.runCalls(ctx, standingsScript, calls)
	if err != nil {
		return nil, err
	}
	results := make([]leaderboard.StandingsResult, len(requests))
	for i, request := range requests {
		values, err := replies[i].Slice()
		if err != nil {
			return nil, err
		}
		reply := redisx.Reply(values)
		results[i].BoardState = served.boardState(request.RankingID.Board.Span, reply.List(0))
		if results[i].Entries, err = parseStandings(reply[1:]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// retryWhileStale repeats a read whose script finds that another board is served, at most
// maxReadTries times. Then it returns ErrNotReady.
func (s *Boards) retryWhileStale(rankingID leaderboard.RankingID, read func() error) error {
	for range maxReadTries {
		err := read()
		if !redis.HasErrorPrefix(err, "STALE") {
			return wrap("read leaderboard", err)
		}
		s.served.Delete(configKey{rankingID.Game, rankingID.ConfigHash})
	}
	return leaderboard.ErrNotReady
}
