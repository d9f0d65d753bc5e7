package leaderboard

import (
	"cmp"
	"context"
	"slices"
)

// naive reads what a memory serves, by sorting everything at every read: it is
// the oracle of what reads mean.
type naive struct{ *memory }

func (n naive) look(v View) (Read, []SliceRow, error) {
	id := n.served[v.Form]
	c := n.copies[id]
	if c == nil || c.state.Stamp == "" {
		return Read{}, nil, ErrNotReady
	}
	p := c.state.Progress
	read := Read{Mark: p.Mark, First: p.First, Oldest: p.Oldest, Span: v.Board.Span}
	if v.Board.Span == OpenDay {
		read.Span = p.Mark.Day
	}
	board := Board{v.Board.Kind, read.Span}
	if roll, rolls := p.Rolls[Window(read.Span)]; rolls {
		read.From, board.Span = roll.Lo[roll.Served], Slot(Window(read.Span), roll.Served)
	}
	var rows []SliceRow
	for _, h := range c.boards[board] {
		if key, ranked := c.ranked[board][v.Ranking][h.Member()]; ranked {
			rows = append(rows, SliceRow{Held: h, Key: key})
		}
	}
	slices.SortFunc(rows, func(a, b SliceRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Newest, b.Newest))
	})
	read.AsOf, read.Total = c.asOf[board], int64(len(rows))
	return read, rows, nil
}

func (n naive) Slice(_ context.Context, v View, c Cut) (Slice, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read, rows, err := n.look(v)
	if err != nil {
		return Slice{}, err
	}
	before, upTo := 0, 0 // entries before the edge, and with it
	for _, r := range rows {
		if order := cmp.Or(cmp.Compare(r.Key, c.Edge.Key), cmp.Compare(r.Member(), c.Edge.Member)); order < 0 {
			before++
			upTo++
		} else if order == 0 {
			upTo++
		}
	}
	start, end := 0, c.Limit
	switch c.From {
	case Around:
		at := slices.IndexFunc(rows, func(r SliceRow) bool { return r.ID == c.ID })
		if at < 0 {
			return Slice{}, ErrNotRanked
		}
		start, end = at-c.Limit/2, at-c.Limit/2+c.Limit
	case After:
		start, end = upTo, upTo+c.Limit
	case Since:
		start, end = before, before+c.Limit
	case Before:
		start, end = before-c.Limit, before
	case Until:
		start, end = upTo-c.Limit, upTo
	}
	start, end = max(start, 0), min(end, len(rows))
	s := Slice{Read: read, Start: int64(start), Rows: rows[start:max(start, end)]}
	if len(s.Rows) > 0 {
		s.Better = better(rows, s.Rows[0].Key)
	}
	return s, nil
}

func better(rows []SliceRow, key float64) (n int64) {
	for _, r := range rows {
		if r.Key < key {
			n++
		}
	}
	return n
}

func (n naive) Places(_ context.Context, asks []Ask) ([]Places, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Places
	for _, ask := range asks {
		read, rows, err := n.look(ask.View)
		if err != nil {
			return nil, err
		}
		p := Places{Read: read}
		for _, id := range ask.IDs {
			if at := slices.IndexFunc(rows, func(r SliceRow) bool { return r.ID == id }); at >= 0 {
				p.Rows = append(p.Rows, PlaceRow{SliceRow: rows[at], Better: better(rows, rows[at].Key)})
			}
		}
		all = append(all, p)
	}
	return all, nil
}
