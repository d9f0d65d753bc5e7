package redisstore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
)

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

func parseRanked(id, keyText, packed string) (leaderboard.RankedEntry, error) {
	entry, err := unpackEntry(id, packed)
	if err != nil {
		return leaderboard.RankedEntry{}, err
	}
	key, err := parseKey(keyText)
	return leaderboard.RankedEntry{BoardEntry: entry, Key: key}, err
}

func parseKey(text string) (float64, error) {
	key, err := strconv.ParseFloat(text, 64)
	if err != nil {
		err = fmt.Errorf("key of a leaderboard: %w", err)
	}
	return key, err
}

// parseProgress parses the field progress of the state hash.
func parseProgress(text string) (progress leaderboard.Progress, err error) {
	if err := json.Unmarshal([]byte(text), &progress); err != nil {
		return progress, fmt.Errorf("progress of leaderboards: %w", err)
	}
	for window, boards := range progress.Rolling {
		if boards.Served < 0 || boards.Served >= len(boards.FirstDays) {
			return progress, fmt.Errorf("progress of leaderboards: window %q serves board %d of %d", window, boards.Served, len(boards.FirstDays))
		}
	}
	return progress, nil
}
