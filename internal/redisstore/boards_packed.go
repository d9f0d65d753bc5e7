package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
)

// packEntry formats an entry for the hash of entries: the newest position, zero-padded to 16
// digits, and the aggregates. Scripts build the member from the first 16 characters and
// the id. Example: "0000000000000042 900 3100 8000 1 5 5 4".
func packEntry(entry leaderboard.BoardEntry) string {
	text := leaderboard.AppendPosition(make([]byte, 0, packedCapacity), entry.Newest)
	for _, field := range entry.Aggregates.Fields() {
		text = strconv.AppendInt(append(text, ' '), *field, 10)
	}
	return string(text)
}

// packedCapacity is the initial buffer size of packEntry, in bytes; enough for most
// entries.
const packedCapacity = 80

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

// unpackEntries parses the reply of HMGET for ids. It skips missing entries.
func unpackEntries(ids []string, values []any) ([]leaderboard.BoardEntry, error) {
	var entries []leaderboard.BoardEntry
	for i, value := range values {
		text, exists := value.(string)
		if !exists {
			continue
		}
		entry, err := unpackEntry(ids[i], text)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// appendTexts appends texts to arguments of a script or command.
func appendTexts(args []any, texts []string) []any {
	args = slices.Grow(args, len(texts))
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

// formatKey formats a key as the score of a sorted set, without loss of precision.
func formatKey(key float64) string { return strconv.FormatFloat(key, 'g', -1, 64) }
