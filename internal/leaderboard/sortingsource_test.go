package leaderboard

import (
	"cmp"
	"context"
	"slices"
)

// sortingSource is a RankingSource that reads a memoryStore and sorts all entries at every
// read.
type sortingSource struct{ *memoryStore }

func (s sortingSource) readAll(rankingID RankingID) (BoardState, []RankedEntry, error) {
	id := s.served[rankingID.ConfigHash]
	stored := s.boardSets[id]
	if stored == nil || stored.state.Version == "" {
		return BoardState{}, nil, ErrNotReady
	}
	progress := stored.state.Progress
	state := BoardState{LedgerPos: progress.Watermark.Pos, LedgerDay: progress.Watermark.Day, FirstDay: progress.FirstDay, OldestDay: progress.OldestDay, Span: rankingID.Board.Span}
	if rankingID.Board.Span == OpenDay {
		state.Span = progress.Watermark.Day
	}
	board := Board{rankingID.Board.Kind, state.Span}
	if boards, isRolling := progress.Rolling[Window(state.Span)]; isRolling {
		state.WindowFirstDay, board.Span = boards.FirstDays[boards.Served], RollingSpan(Window(state.Span), boards.Served)
	}
	var rows []RankedEntry
	for _, entry := range stored.boards[board] {
		if key, isRanked := stored.rankings[board][rankingID.Order][entry.Member()]; isRanked {
			rows = append(rows, RankedEntry{BoardEntry: entry, Key: key})
		}
	}
	slices.SortFunc(rows, func(a, b RankedEntry) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Newest, b.Newest))
	})
	state.AsOf, state.Total = stored.asOf[board], int64(len(rows))
	return state, rows, nil
}

func (s sortingSource) ReadSlice(_ context.Context, rankingID RankingID, cut SliceRequest) (RankingSlice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, rows, err := s.readAll(rankingID)
	if err != nil {
		return RankingSlice{}, err
	}
	beforeEdge, throughEdge := 0, 0 // number of entries before the edge, and including it
	for _, row := range rows {
		if order := row.compare(cut.Edge); order < 0 {
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
			return RankingSlice{BoardState: state}, ErrNotRanked
		}
		start, end = index-cut.Limit/2, index-cut.Limit/2+cut.Limit
	case After:
		start, end = throughEdge, throughEdge+cut.Limit
	case Before:
		start, end = beforeEdge-cut.Limit, beforeEdge
	}
	start, end = max(start, 0), min(end, len(rows))
	slice := RankingSlice{BoardState: state, StartIndex: int64(start), Entries: rows[start:max(start, end)]}
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

func (s sortingSource) ReadStandings(_ context.Context, rankingID RankingID, request StandingsRequest) (StandingsResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, rows, err := s.readAll(rankingID)
	result := StandingsResult{BoardState: state}
	for _, id := range request.IDs {
		if index := slices.IndexFunc(rows, func(row RankedEntry) bool { return row.ID == id }); index >= 0 {
			result.Entries = append(result.Entries, StandingEntry{RankedEntry: rows[index], BetterCount: countBetter(rows, rows[index].Key)})
		}
	}
	return result, err
}
