package redisstore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
)

// spanField returns the field of the state hash that says which board a requested span stands
// for. The open day's field has its date. The field of a rolling window names the board that
// readers see, and the first day of that board. It is empty for other spans, and before the
// ledger's first row.
func spanField(progress leaderboard.Progress, requested string) string {
	window := leaderboard.Window(requested)
	if boards, isRolling := progress.Rolling[window]; isRolling {
		return leaderboard.RollingSpan(window, boards.Served) + " " + boards.FirstDays[boards.Served]
	}
	if requested == leaderboard.OpenDay {
		return progress.Watermark.Day
	}
	return ""
}

// stateFields returns fields of the state hash and their values, alternately. It leaves out
// version and config. The fields for the read scripts repeat a part of progress.
// touchedAt is in epoch ms.
func stateFields(progress leaderboard.Progress, loading bool, touchedAt int64) ([]any, error) {
	packed, err := json.Marshal(progress)
	if err != nil {
		return nil, err
	}
	fields := []any{
		"touched", touchedAt, "loading", loading, "progress", packed,
		"pos", progress.Watermark.Pos, "day", progress.Watermark.Day, "first", progress.FirstDay, "oldest", progress.OldestDay,
		"span:" + leaderboard.OpenDay, spanField(progress, leaderboard.OpenDay),
	}
	for window := range progress.Rolling {
		fields = append(fields, "span:"+string(window), spanField(progress, string(window)))
	}
	return fields, nil
}

// parseState parses the state hash. The Version stays empty if the board set is lost or corrupt.
func parseState(boardSet leaderboard.BoardSet, fields map[string]string) (leaderboard.BoardSetState, error) {
	state := leaderboard.BoardSetState{BoardSet: boardSet}
	version := fields["version"]
	if version == "" || version == corruptVersion {
		return state, nil
	}
	progress, err := parseProgress(fields["progress"])
	if err == nil {
		state.Version, state.Loading, state.Progress = version, fields["loading"] == "1", progress
	}
	return state, err
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

// packEntry formats an entry for the hash of entries: the newest position, zero-padded to 16
// digits, and the aggregates. Scripts build the member from the first 16 characters and
// the id. Example: "0000000000000042 900 3100 8000 1 5 5 4".
func packEntry(entry leaderboard.BoardEntry) string {
	text := fmt.Appendf(make([]byte, 0, 80), "%016d", entry.Newest) // 80 bytes are enough for most entries
	for _, field := range entry.Aggregates.Fields() {
		text = strconv.AppendInt(append(text, ' '), *field, 10)
	}
	return string(text)
}

func unpackEntry(id, text string) (leaderboard.BoardEntry, error) {
	entry := leaderboard.BoardEntry{ID: id}
	a := &entry.Aggregates
	targets := [...]*int64{&entry.Newest, &a.Score, &a.TimeMS, &a.LimitMS, &a.Matches, &a.Asked, &a.Answered, &a.Correct} // Fields would allocate
	if count := 1 + strings.Count(text, " "); count != len(targets) {
		return entry, fmt.Errorf("leaderboard entry of %s has %d fields instead of %d", id, count, len(targets))
	}
	for _, target := range targets {
		field, rest, _ := strings.Cut(text, " ")
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return entry, fmt.Errorf("leaderboard entry of %s: %w", id, err)
		}
		*target, text = n, rest
	}
	return entry, nil
}

// formatKey formats a key as the score of a sorted set, without loss of precision.
func formatKey(key float64) string { return strconv.FormatFloat(key, 'g', -1, 64) }

func parseKey(text string) (float64, error) {
	key, err := strconv.ParseFloat(text, 64)
	if err != nil {
		err = fmt.Errorf("key of a leaderboard: %w", err)
	}
	return key, err
}
