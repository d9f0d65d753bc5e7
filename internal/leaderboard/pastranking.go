package leaderboard

// slice returns the requested entries. ErrNotRanked means that the request is for the
// entries around an entry that is not ranked.
func (r ranking) slice(request SliceRequest) (RankingSlice, error) {
	start, end, ok := r.indexRange(request)
	if !ok {
		return RankingSlice{}, ErrNotRanked
	}
	start, end = max(start, 0), min(end, len(r.entries))
	slice := RankingSlice{StartIndex: int64(start)}
	for i := start; i < end; i++ {
		slice.Entries = append(slice.Entries, r.entryAt(i))
	}
	if len(slice.Entries) > 0 {
		slice.BetterCount = int64(r.countBetter(slice.Entries[0].Key))
	}
	return slice, nil
}

// indexRange returns the first requested index and the index after the last one. Both may
// be out of range. ok is false if the request is around an entry that is not ranked.
func (r ranking) indexRange(request SliceRequest) (start, end int, ok bool) {
	edge := r.countBefore(request.Edge)
	afterEdge := edge
	if edge < len(r.entries) && r.entryAt(edge).edge() == request.Edge {
		afterEdge++
	}
	switch request.Anchor {
	case Around:
		index, ok := r.findIndex(request.ID)
		start = index - request.Limit/2
		return start, start + request.Limit, ok
	case After:
		return afterEdge, afterEdge + request.Limit, true
	case Since:
		return edge, edge + request.Limit, true
	case Before:
		return edge - request.Limit, edge, true
	case Until:
		return afterEdge - request.Limit, afterEdge, true
	}
	return 0, request.Limit, true
}

// standings returns the standings of the ranked entries among ids, in the order of ids.
func (r ranking) standings(ids []string) []StandingEntry {
	var standings []StandingEntry
	for _, id := range ids {
		index, ok := r.findIndex(id)
		if !ok {
			continue
		}
		row := r.entryAt(index)
		standings = append(standings, StandingEntry{RankedEntry: row, BetterCount: int64(r.countBetter(row.Key))})
	}
	return standings
}

// boardState returns the state of the deleted boards with the data of the day filled in.
func (r ranking) boardState(boards BoardState, day string) BoardState {
	boards.Span, boards.AsOf, boards.Total = day, r.day.asOf, int64(len(r.entries))
	return boards
}
