package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
)

// reply parses a reply of Redis value by value. Each method parses the next value. A value
// with an unexpected type is returned as zero, and err returns the first such error.
type reply struct {
	values   []any
	firstErr *error // shared with the replies that subReply returns
}

func newReply(values []any) *reply { return &reply{values: values, firstErr: new(error)} }

func (r *reply) err() error { return *r.firstErr }

// subReply returns the next value, which must be a list, as a reply.
func (r *reply) subReply() *reply { return &reply{values: r.list(), firstErr: r.firstErr} }

func (r *reply) nextValue() any {
	if len(r.values) == 0 {
		r.setError("a value is missing")
		return nil
	}
	value := r.values[0]
	r.values = r.values[1:]
	return value
}

func (r *reply) setError(problem string) {
	if *r.firstErr == nil {
		*r.firstErr = fmt.Errorf("leaderboard reply of Redis: %s", problem)
	}
}

// text returns the next value, which must be a text, an integer or nil. It returns "" for nil.
func (r *reply) text() string {
	switch value := r.nextValue().(type) {
	case string:
		return value
	case int64:
		return strconv.FormatInt(value, 10)
	case nil:
		return ""
	default:
		r.setError(fmt.Sprintf("%v is not a text", value))
		return ""
	}
}

func (r *reply) list() []any {
	value := r.nextValue()
	list, ok := value.([]any)
	if !ok {
		r.setError(fmt.Sprintf("%v is not a list", value))
	}
	return list
}

// listWithLength returns the next list, which must have n values. On error it returns n nil
// values.
func (r *reply) listWithLength(n int) []any {
	list := r.list()
	if len(list) != n {
		r.setError(fmt.Sprintf("a list has %d values instead of %d", len(list), n))
		return make([]any, n)
	}
	return list
}

// number returns the next value as an integer. An empty text or nil is 0.
func (r *reply) number() int64 {
	text := r.text()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.setError(err.Error())
	}
	return n
}

// key returns the next value as a key of a ranking. An empty text or nil is 0.
func (r *reply) key() float64 { return r.parseKey(r.text()) }

func (r *reply) parseKey(text string) float64 {
	if text == "" {
		return 0
	}
	k, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.setError(err.Error())
	}
	return k
}

func (r *reply) entry(id, packed string) leaderboard.BoardEntry {
	entry, err := unpackEntry(id, packed)
	if err != nil {
		r.setError(err.Error())
	}
	return entry
}

// parseSlice parses the reply of board_read_slice.lua, without its first value.
func parseSlice(values []any) (leaderboard.RankingSlice, error) {
	reply := newReply(values)
	slice := leaderboard.RankingSlice{StartIndex: reply.number(), BetterCount: reply.number()}
	found, packed := reply.subReply(), reply.subReply()
	for len(found.values) > 0 && reply.err() == nil {
		_, id, _ := strings.Cut(found.text(), ":")
		key := found.key()
		slice.Entries = append(slice.Entries, leaderboard.RankedEntry{BoardEntry: reply.entry(id, packed.text()), Key: key})
	}
	return slice, reply.err()
}

// parseStandings parses the reply of board_standings.lua, without its first value.
func parseStandings(values []any) ([]leaderboard.StandingEntry, error) {
	reply := newReply(values)
	var rows []leaderboard.StandingEntry
	for len(reply.values) > 0 && reply.err() == nil {
		standing := reply.subReply()
		id, key := standing.text(), standing.key()
		row := leaderboard.StandingEntry{RankedEntry: leaderboard.RankedEntry{BoardEntry: standing.entry(id, standing.text()), Key: key}}
		row.BetterCount, row.Index, row.EqualCount, row.NextBetterKey = standing.number(), standing.number(), standing.number(), standing.key()
		rows = append(rows, row)
	}
	return rows, reply.err()
}
