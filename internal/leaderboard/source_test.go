package leaderboard

import (
	"cmp"
	"context"
	"slices"
)

// sortingSource is a RankingSource that reads a memoryStore and sorts all entries at every
// read.
type sortingSource struct{ *memoryStore }

func (n sortingSource) readAll(v View) (BoardState, []SliceRow, error) {
	id := n.served[v.ConfigHash]
	c := n.copies[id]
	if c == nil || c.state.Version == "" {
		return BoardState{}, nil, ErrNotReady
	}
	p := c.state.Progress
	read := BoardState{Mark: p.Mark, First: p.First, Oldest: p.Oldest, Span: v.Board.Span}
	if v.Board.Span == OpenDay {
		read.Span = p.Mark.Day
	}
	board := Board{v.Board.Kind, read.Span}
	if boards, rolling := p.Rolling[Window(read.Span)]; rolling {
		read.From, board.Span = boards.FirstDay[boards.Served], RollingSpan(Window(read.Span), boards.Served)
	}
	var rows []SliceRow
	for _, h := range c.boards[board] {
		if key, ranked := c.ranked[board][v.Ranking][h.Member()]; ranked {
			rows = append(rows, SliceRow{BoardEntry: h, Key: key})
		}
	}
	slices.SortFunc(rows, func(a, b SliceRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Newest, b.Newest))
	})
	read.AsOf, read.Total = c.asOf[board], int64(len(rows))
	return read, rows, nil
}

func (n sortingSource) ReadSlice(_ context.Context, v View, c Cut) (Slice, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read, rows, err := n.readAll(v)
	if err != nil {
		return Slice{}, err
	}
	beforeEdge, throughEdge := 0, 0 // number of entries before the edge, and including it
	for _, r := range rows {
		if order := cmp.Or(cmp.Compare(r.Key, c.Edge.Key), cmp.Compare(r.Member(), c.Edge.Member)); order < 0 {
			beforeEdge++
			throughEdge++
		} else if order == 0 {
			throughEdge++
		}
	}
	start, end := 0, c.Limit
	switch c.From {
	case Around:
		index := slices.IndexFunc(rows, func(r SliceRow) bool { return r.ID == c.ID })
		if index < 0 {
			return Slice{}, ErrNotRanked
		}
		start, end = index-c.Limit/2, index-c.Limit/2+c.Limit
	case After:
		start, end = throughEdge, throughEdge+c.Limit
	case Since:
		start, end = beforeEdge, beforeEdge+c.Limit
	case Before:
		start, end = beforeEdge-c.Limit, beforeEdge
	case Until:
		start, end = throughEdge-c.Limit, throughEdge
	}
	start, end = max(start, 0), min(end, len(rows))
	s := Slice{BoardState: read, Start: int64(start), Rows: rows[start:max(start, end)]}
	if len(s.Rows) > 0 {
		s.Better = countBetter(rows, s.Rows[0].Key)
	}
	return s, nil
}

func countBetter(rows []SliceRow, key float64) (n int64) {
	for _, r := range rows {
		if r.Key < key {
			n++
		}
	}
	return n
}

func (n sortingSource) ReadStandings(_ context.Context, asks []StandingsRequest) ([]StandingsResult, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []StandingsResult
	for _, ask := range asks {
		read, rows, err := n.readAll(ask.View)
		if err != nil {
			return nil, err
		}
		p := StandingsResult{BoardState: read}
		for _, id := range ask.IDs {
			if index := slices.IndexFunc(rows, func(r SliceRow) bool { return r.ID == id }); index >= 0 {
				p.Rows = append(p.Rows, StandingRow{SliceRow: rows[index], Better: countBetter(rows, rows[index].Key)})
			}
		}
		all = append(all, p)
	}
	return all, nil
}
