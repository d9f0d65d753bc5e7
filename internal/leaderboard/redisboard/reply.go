package redisboard

import (
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/leaderboard"
)

// reply takes a script's reply apart, value by value. The first value that is
// not what was asked for is remembered; what follows it is zero.
type reply struct {
	left []any
	err  error
}

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
	if r.err == nil {
		r.err = fmt.Errorf("reply of a leaderboard script: %s", what)
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

// read reads what ready.lua read.
func (r *reply) read() leaderboard.Read {
	in := &reply{left: r.list(), err: r.err}
	read := leaderboard.Read{
		Mark: leaderboard.Watermark{
			Epoch: in.text(), Pos: in.number(), RowID: in.text(), Day: in.text(),
		},
		First: in.text(), AsOf: in.number(), Total: in.number(),
	}
	r.err = in.err
	return read
}

// readSlice reads the reply of page.lua, or of around.lua alone.
func readSlice(values []any) (leaderboard.Slice, error) {
	r := &reply{left: values}
	s := leaderboard.Slice{Read: r.read()}
	if len(values) == 1 {
		return s, r.err
	}
	s.Start, s.Better = r.number(), r.number()
	found, packed := &reply{left: r.list()}, &reply{left: r.list()}
	for len(found.left) > 0 && found.err == nil {
		_, id, _ := strings.Cut(found.text(), ":")
		key := found.key()
		s.Rows = append(s.Rows, leaderboard.SliceRow{Held: found.held(id, packed.text()), Key: key})
	}
	for _, part := range []*reply{found, packed} {
		if r.err == nil {
			r.err = part.err
		}
	}
	return s, r.err
}

// readPlaces reads the reply of places.lua.
func readPlaces(values []any) (leaderboard.Places, error) {
	r := &reply{left: values}
	p := leaderboard.Places{Read: r.read()}
	for len(r.left) > 0 && r.err == nil {
		in := &reply{left: r.list()}
		id, key := in.text(), in.key()
		row := leaderboard.PlaceRow{SliceRow: leaderboard.SliceRow{Held: in.held(id, in.text()), Key: key}}
		row.Better, row.Index, row.Equal, row.Next = in.number(), in.number(), in.number(), in.key()
		p.Rows = append(p.Rows, row)
		if r.err == nil {
			r.err = in.err
		}
	}
	return p, r.err
}
