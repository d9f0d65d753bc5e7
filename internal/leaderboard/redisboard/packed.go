package redisboard

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
func pack(h leaderboard.BoardEntry) string {
	p := h.Aggregates
	text := leaderboard.AppendPosition(make([]byte, 0, packedLength), h.Newest)
	for _, n := range [...]int64{p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct} {
		text = strconv.AppendInt(append(text, ' '), n, 10)
	}
	return string(text)
}

// packedCapacity is the initial buffer size of packEntry, in bytes; enough for most
// entries.
const packedLength = 80

func unpack(id, text string) (leaderboard.BoardEntry, error) {
	h := leaderboard.BoardEntry{ID: id}
	p := &h.Aggregates
	targets := [...]*int64{&h.Newest, &p.Score, &p.TimeMS, &p.LimitMS, &p.Matches, &p.Asked, &p.Answered, &p.Correct}
	if fields := 1 + strings.Count(text, " "); fields != len(targets) {
		return h, fmt.Errorf("leaderboard entry of %s has %d fields instead of %d", id, fields, len(targets))
	}
	for _, to := range targets {
		field, rest, _ := strings.Cut(text, " ")
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return h, fmt.Errorf("leaderboard entry of %s: %w", id, err)
		}
		*to, text = n, rest
	}
	return h, nil
}

// unpackEntries parses the reply of HMGET for ids. It skips missing entries.
func unpackAll(ids []string, values []any) ([]leaderboard.BoardEntry, error) {
	var held []leaderboard.BoardEntry
	for i, v := range values {
		text, exists := v.(string)
		if !exists {
			continue
		}
		h, err := unpack(ids[i], text)
		if err != nil {
			return nil, err
		}
		held = append(held, h)
	}
	return held, nil
}

// appendTexts appends texts to arguments of a script or command.
func appendTexts(args []any, texts []string) []any {
	args = slices.Grow(args, len(texts))
	for _, t := range texts {
		args = append(args, t)
	}
	return args
}

// formatKey formats a key as the score of a sorted set, without loss of precision.
func formatKey(k float64) string { return strconv.FormatFloat(k, 'g', -1, 64) }
