package leaderboard

// slice returns the requested entries. ErrNotRanked means that the request is for the
// entries around an entry that is not ranked.
func (r ranking) slice(c Cut) (Slice, error) {
	start, end, ok := r.bounds(c)
	if !ok {
		return Slice{}, ErrNotRanked
	}
	start, end = max(start, 0), min(end, len(r.entries))
	s := Slice{Start: int64(start)}
	for i := start; i < end; i++ {
		s.Rows = append(s.Rows, r.row(i))
	}
	if len(s.Rows) > 0 {
		s.Better = int64(r.countBetter(s.Rows[0].Key))
	}
	return s, nil
}

// indexRange returns the first requested index and the index after the last one. Both may
// be out of range. ok is false if the request is around an entry that is not ranked.
func (r ranking) bounds(c Cut) (start, end int, ok bool) {
	edge := r.countBefore(c.Edge)
	afterEdge := edge
	if edge < len(r.entries) && r.row(edge).edge() == c.Edge {
		afterEdge++
	}
	switch c.From {
	case Around:
		index, ok := r.find(c.ID)
		start = index - c.Limit/2
		return start, start + c.Limit, ok
	case After:
		return afterEdge, afterEdge + c.Limit, true
	case Since:
		return edge, edge + c.Limit, true
	case Before:
		return edge - c.Limit, edge, true
	case Until:
		return afterEdge - c.Limit, afterEdge, true
	}
	return 0, c.Limit, true
}

// standings returns the standings of the ranked entries among ids, in the order of ids.
func (r ranking) standings(ids []string) []StandingRow {
	var places []StandingRow
	for _, id := range ids {
		index, ok := r.find(id)
		if !ok {
			continue
		}
		row := r.row(index)
		places = append(places, StandingRow{SliceRow: row, Better: int64(r.countBetter(row.Key))})
	}
	return places
}

// boardState returns the state of the deleted boards with the data of the day filled in.
func (r ranking) boardState(boards BoardState, day string) BoardState {
	boards.Span, boards.AsOf, boards.Total = day, r.day.asOf, int64(len(r.entries))
	return boards
}
