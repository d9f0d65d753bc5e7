package redisboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
)

// pack writes an entry as a parts hash holds it: the newest position
// zero-padded to 16, so that a script makes the member of it by cutting, then
// the sums.
func pack(h leaderboard.Held) string {
	p := h.Parts
	text := leaderboard.AppendPosition(make([]byte, 0, packedLength), h.Newest)
	for _, n := range [...]int64{p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct} {
		text = strconv.AppendInt(append(text, ' '), n, 10)
	}
	return string(text)
}

// packedLength is room for most entries.
const packedLength = 80

func unpack(id, text string) (leaderboard.Held, error) {
	h := leaderboard.Held{ID: id}
	p := &h.Parts
	into := [...]*int64{&h.Newest, &p.Score, &p.TimeMS, &p.LimitMS, &p.Matches, &p.Asked, &p.Answered, &p.Correct}
	if fields := 1 + strings.Count(text, " "); fields != len(into) {
		return h, fmt.Errorf("leaderboard entry of %s: %d fields, not %d", id, fields, len(into))
	}
	for _, to := range into {
		field, rest, _ := strings.Cut(text, " ")
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return h, fmt.Errorf("leaderboard entry of %s: %w", id, err)
		}
		*to, text = n, rest
	}
	return h, nil
}

// unpackAll reads what HMGET of ids answered, leaving out what is not there.
func unpackAll(ids []string, values []any) ([]leaderboard.Held, error) {
	var held []leaderboard.Held
	for i, v := range values {
		text, there := v.(string)
		if !there {
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

// appendAll adds texts to a script's arguments.
func appendAll(args []any, texts []string) []any {
	args = slices.Grow(args, len(texts))
	for _, t := range texts {
		args = append(args, t)
	}
	return args
}

// formatKey writes a sorted set's score so that it reads back the same.
func formatKey(k float64) string { return strconv.FormatFloat(k, 'g', -1, 64) }
