package leaderboard

import (
	"cmp"
	"context"
	"slices"
)

// sortingSource is a RankingSource that reads a memoryStore and sorts all entries at every
// read.
type sortingSource struct{ *memoryStore }

func (n sortingSource) readAll(view RankingID) (BoardState, []RankedEntry, error) {
	id := n.served[view.ConfigHash]
	stored := n.boardSets[id]
	if stored == nil || stored.state.Version == "" {
		return BoardState{}, nil, ErrNotReady
	}
	p := stored.state.Progress
	read := BoardState{Watermark: p.Watermark, FirstDay: p.FirstDay, OldestDay: p.OldestDay, Span: view.Board.Span}
	if view.Board.Span == OpenDay {
		read.Span = p.Watermark.Day
	}
	board := Board{view.Board.Kind, read.Span}
	if boards, rolling := p.Rolling[Window(read.Span)]; rolling {
		read.WindowFirstDay, board.Span = boards.FirstDays[boards.Served], RollingSpan(Window(read.Span), boards.Served)
	}
	var rows []RankedEntry
	for _, h := range stored.boards[board] {
		if key, ranked := stored.rankings[board][view.Order][h.Member()]; ranked {
			rows = append(rows, RankedEntry{BoardEntry: h, Key: key})
		}
	}
	slices.SortFunc(rows, func(a, b RankedEntry) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Newest, b.Newest))
	})
	read.AsOf, read.Total = stored.asOf[board], int64(len(rows))
	return read, rows, nil
}

func (n sortingSource) ReadSlice(_ context.Context, view RankingID, cut SliceRequest) (RankingSlice, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read, rows, err := n.readAll(view)
	if err != nil {
		return RankingSlice{}, err
	}
	beforeEdge, throughEdge := 0, 0 // number of entries before the edge, and including it
	for _, row := range rows {
		if order := cmp.Or(cmp.Compare(row.Key, cut.Edge.Key), cmp.Compare(row.Member(), cut.Edge.Member)); order < 0 {
			beforeEdge++
			throughEdge++
		} else if order == 0 {
			throughEdge++
		}
	}
	start, end := 0, cut.Limit
	switch cut.Anchor {
	case Around:
		index := slices.IndexFunc(rows, func(row RankedEntry) bool { return row.ID == cut.ID })
		if index < 0 {
			return RankingSlice{}, ErrNotRanked
		}
		start, end = index-cut.Limit/2, index-cut.Limit/2+cut.Limit
	case After:
		start, end = throughEdge, throughEdge+cut.Limit
	case Since:
		start, end = beforeEdge, beforeEdge+cut.Limit
	case Before:
		start, end = beforeEdge-cut.Limit, beforeEdge
	case Until:
		start, end = throughEdge-cut.Limit, throughEdge
	}
	start, end = max(start, 0), min(end, len(rows))
	slice := RankingSlice{BoardState: read, StartIndex: int64(start), Entries: rows[start:max(start, end)]}
	if len(slice.Entries) > 0 {
		slice.BetterCount = countBetter(rows, slice.Entries[0].Key)
	}
	return slice, nil
}

func countBetter(rows []RankedEntry, key float64) (n int64) {
	for _, row := range rows {
		if row.Key < key {
			n++
		}
	}
	return n
}

func (n sortingSource) ReadStandings(_ context.Context, requests []StandingsRequest) ([]StandingsResult, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var results []StandingsResult
	for _, request := range requests {
		read, rows, err := n.readAll(request.View)
		if err != nil {
			return nil, err
		}
		result := StandingsResult{BoardState: read}
		for _, id := range request.IDs {
			if index := slices.IndexFunc(rows, func(row RankedEntry) bool { return row.ID == id }); index >= 0 {
				result.Entries = append(result.Entries, StandingEntry{RankedEntry: rows[index], BetterCount: countBetter(rows, rows[index].Key)})
			}
		}
		results = append(results, result)
	}
	return results, nil
}
