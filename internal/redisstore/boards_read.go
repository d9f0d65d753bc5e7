package redisstore

import (
	"context"
	"strings"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

var (
	readSliceScript = newScript("board_state", "board_read_slice")
	standingsScript = newScript("board_state", "board_standings")
)

// ReadSlice implements leaderboard.RankingSource.
func (s *Boards) ReadSlice(ctx context.Context, rankingID leaderboard.RankingID, request leaderboard.SliceRequest) (slice leaderboard.RankingSlice, err error) {
	args := []any{request.Limit, string(request.Anchor)}
	switch request.Anchor {
	case leaderboard.Around:
		args = append(args, request.ID)
	case leaderboard.After, leaderboard.Before:
		args = append(args, formatKey(request.Edge.Key), request.Edge.Member())
	}
	state, reply, err := s.runRead(ctx, readSliceScript, rankingID, args...)
	switch {
	case err != nil:
	case len(reply) == 0:
		err = leaderboard.ErrNotRanked
	default:
		slice, err = parseSlice(reply)
	}
	slice.BoardState = state
	return slice, err
}

// ReadStandings implements leaderboard.RankingSource.
func (s *Boards) ReadStandings(ctx context.Context, rankingID leaderboard.RankingID, request leaderboard.StandingsRequest) (leaderboard.StandingsResult, error) {
	state, reply, err := s.runRead(ctx, standingsScript, rankingID, appendTexts([]any{request.WithNextKey, request.WithTie}, request.IDs)...)
	result := leaderboard.StandingsResult{BoardState: state}
	if err == nil {
		result.Entries, err = parseStandings(reply)
	}
	return result, err
}

// parseSlice parses the reply of board_read_slice.lua, without its first value.
func parseSlice(reply redisx.Reply) (leaderboard.RankingSlice, error) {
	slice := leaderboard.RankingSlice{StartIndex: reply.Number(0), BetterCount: reply.Number(1)}
	found, packed := reply.List(2), reply.List(3)
	for i := range len(found) / 2 {
		_, id, _ := strings.Cut(found.Text(2*i), ":")
		entry, err := parseRanked(id, found.Text(2*i+1), packed.Text(i))
		if err != nil {
			return leaderboard.RankingSlice{}, err
		}
		slice.Entries = append(slice.Entries, entry)
	}
	return slice, nil
}

// parseStandings parses the reply of board_standings.lua, without its first value.
func parseStandings(reply redisx.Reply) ([]leaderboard.StandingEntry, error) {
	var rows []leaderboard.StandingEntry
	for i := range reply {
		standing := reply.List(i)
		entry, err := parseRanked(standing.Text(0), standing.Text(1), standing.Text(2))
		row := leaderboard.StandingEntry{RankedEntry: entry, BetterCount: standing.Number(3), Index: standing.Number(4), EqualCount: standing.Number(5)}
		if next := standing.Text(6); err == nil && next != "" {
			row.NextBetterKey, err = parseKey(next)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parseRanked(id, keyText, packed string) (entry leaderboard.RankedEntry, err error) {
	if entry.BoardEntry, err = unpackEntry(id, packed); err == nil {
		entry.Key, err = parseKey(keyText)
	}
	return entry, err
}
