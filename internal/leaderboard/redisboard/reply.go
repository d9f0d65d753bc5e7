package redisboard

import (
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
)

// reply takes a reply of Redis apart, value by value. The first value that is
// not what was asked for is remembered; what follows it is zero.
type reply struct {
	left  []any
	fault *error // shared with the lists within
}

func newReply(values []any) *reply { return &reply{left: values, fault: new(error)} }

func (r *reply) err() error { return *r.fault }

// inner takes the list apart that comes next.
func (r *reply) inner() *reply { return &reply{left: r.list(), fault: r.fault} }

func (r *reply) next() any {
	if len(r.left) == 0 {
		r.fail("a value is missing")
		return nil
	}
	v := r.left[0]
	r.left = r.left[1:]
	return v
}

func (r *reply) fail(what string) {
	if *r.fault == nil {
		*r.fault = fmt.Errorf("reply about leaderboards: %s", what)
	}
}

// text is also the empty text of a nil.
func (r *reply) text() string {
	switch v := r.next().(type) {
	case string:
		return v
	case nil:
		return ""
	default:
		r.fail(fmt.Sprintf("%v is no text", v))
		return ""
	}
}

func (r *reply) list() []any {
	v := r.next()
	l, ok := v.([]any)
	if !ok {
		r.fail(fmt.Sprintf("%v is no list", v))
	}
	return l
}

// listOf is a list of n values, all nil where it is not.
func (r *reply) listOf(n int) []any {
	l := r.list()
	if len(l) != n {
		r.fail(fmt.Sprintf("%d values, not %d", len(l), n))
		return make([]any, n)
	}
	return l
}

func (r *reply) texts() []string {
	in := r.inner()
	texts := make([]string, len(in.left))
	for i := range texts {
		texts[i] = in.text()
	}
	return texts
}

// number reads an integer, also written as text; empty is 0.
func (r *reply) number() int64 {
	if len(r.left) > 0 {
		if n, ok := r.left[0].(int64); ok {
			r.left = r.left[1:]
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

// key reads a sorted set's score; empty is 0.
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

func (r *reply) held(id, packed string) leaderboard.Held {
	h, err := unpack(id, packed)
	if err != nil {
		r.fail(err.Error())
	}
	return h
}

// readSlice reads what page.lua read, without the head.
func readSlice(values []any) (leaderboard.Slice, error) {
	r := newReply(values)
	s := leaderboard.Slice{Start: r.number(), Better: r.number()}
	found, packed := r.inner(), r.inner()
	for len(found.left) > 0 && r.err() == nil {
		_, id, _ := strings.Cut(found.text(), ":")
		key := found.key()
		s.Rows = append(s.Rows, leaderboard.SliceRow{Held: r.held(id, packed.text()), Key: key})
	}
	return s, r.err()
}

// readPlaces reads what places.lua read, without the head.
func readPlaces(values []any) ([]leaderboard.PlaceRow, error) {
	r := newReply(values)
	var rows []leaderboard.PlaceRow
	for len(r.left) > 0 && r.err() == nil {
		in := r.inner()
		id, key := in.text(), in.key()
		row := leaderboard.PlaceRow{SliceRow: leaderboard.SliceRow{Held: in.held(id, in.text()), Key: key}}
		row.Better, row.Index, row.Equal, row.Next = in.number(), in.number(), in.number(), in.key()
		rows = append(rows, row)
	}
	return rows, r.err()
}
