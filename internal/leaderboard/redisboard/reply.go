package redisboard

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

func (r *reply) next() any {
	if len(r.values) == 0 {
		r.fail("a value is missing")
		return nil
	}
	v := r.values[0]
	r.values = r.values[1:]
	return v
}

func (r *reply) fail(problem string) {
	if *r.firstErr == nil {
		*r.firstErr = fmt.Errorf("leaderboard reply of Redis: %s", problem)
	}
}

// text returns the next value, which must be a text or nil. It returns "" for nil.
func (r *reply) text() string {
	switch v := r.next().(type) {
	case string:
		return v
	case nil:
		return ""
	default:
		r.fail(fmt.Sprintf("%v is not a text", v))
		return ""
	}
}

func (r *reply) list() []any {
	v := r.next()
	l, ok := v.([]any)
	if !ok {
		r.fail(fmt.Sprintf("%v is not a list", v))
	}
	return l
}

// listWithLength returns the next list, which must have n values. On error it returns n nil
// values.
func (r *reply) listOf(n int) []any {
	l := r.list()
	if len(l) != n {
		r.fail(fmt.Sprintf("a list has %d values instead of %d", len(l), n))
		return make([]any, n)
	}
	return l
}

func (r *reply) texts() []string {
	in := r.subReply()
	texts := make([]string, len(in.values))
	for i := range texts {
		texts[i] = in.text()
	}
	return texts
}

// number returns the next value as an integer. The value may be a text. An empty text or
// nil is 0.
func (r *reply) number() int64 {
	if len(r.values) > 0 {
		if n, ok := r.values[0].(int64); ok {
			r.values = r.values[1:]
			return n
		}
	}
	text := r.text()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail(err.Error())
	}
	return n
}

// key returns the next value as a key of a ranking. An empty text or nil is 0.
func (r *reply) key() float64 {
	text := r.text()
	if text == "" {
		return 0
	}
	return r.parseKey(text)
}

func (r *reply) parseKey(text string) float64 {
	k, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.fail(err.Error())
	}
	return k
}

func (r *reply) entry(id, packed string) leaderboard.BoardEntry {
	h, err := unpack(id, packed)
	if err != nil {
		r.fail(err.Error())
	}
	return h
}

// parseSlice parses the reply of page.lua, without its first value.
func parseSlice(values []any) (leaderboard.Slice, error) {
	r := newReply(values)
	s := leaderboard.Slice{Start: r.number(), Better: r.number()}
	found, packed := r.subReply(), r.subReply()
	for len(found.values) > 0 && r.err() == nil {
		_, id, _ := strings.Cut(found.text(), ":")
		key := found.key()
		s.Rows = append(s.Rows, leaderboard.SliceRow{BoardEntry: r.entry(id, packed.text()), Key: key})
	}
	return s, r.err()
}

// parseStandings parses the reply of standings.lua, without its first value.
func parseStandings(values []any) ([]leaderboard.StandingRow, error) {
	r := newReply(values)
	var rows []leaderboard.StandingRow
	for len(r.values) > 0 && r.err() == nil {
		in := r.subReply()
		id, key := in.text(), in.key()
		row := leaderboard.StandingRow{SliceRow: leaderboard.SliceRow{BoardEntry: in.entry(id, in.text()), Key: key}}
		row.Better, row.Index, row.Equal, row.NextKey = in.number(), in.number(), in.number(), in.key()
		rows = append(rows, row)
	}
	return rows, r.err()
}
