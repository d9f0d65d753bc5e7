package leaderboard

// A past day answers what a board answers: these are the reads of a Source.

// slice cuts it. ErrNotRanked: it is to be cut around an entry that is not ranked.
func (r ranking) slice(c Cut) (Slice, error) {
	start, end, ok := r.cut(c)
	if !ok {
		return Slice{}, ErrNotRanked
	}
	start, end = max(start, 0), min(end, len(r.entries))
	s := Slice{Start: int64(start)}
	for i := start; i < end; i++ {
		s.Rows = append(s.Rows, r.row(i))
	}
	if len(s.Rows) > 0 {
		s.Better = int64(r.better(s.Rows[0].Key))
	}
	return s, nil
}

// cut says from which index on and up to which, either may lie outside.
func (r ranking) cut(c Cut) (start, end int, ok bool) {
	at := r.before(c.Edge)
	behind := at
	if at < len(r.entries) && r.row(at).edge() == c.Edge {
		behind++
	}
	switch c.From {
	case Around:
		index, ok := r.index(c.ID)
		start = index - c.Limit/2
		return start, start + c.Limit, ok
	case After:
		return behind, behind + c.Limit, true
	case Since:
		return at, at + c.Limit, true
	case Before:
		return at - c.Limit, at, true
	case Until:
		return behind - c.Limit, behind, true
	}
	return 0, c.Limit, true
}

// places returns the ranked ones of ids, in their order.
func (r ranking) places(ids []string) []PlaceRow {
	var places []PlaceRow
	for _, id := range ids {
		index, ok := r.index(id)
		if !ok {
			continue
		}
		row := r.row(index)
		places = append(places, PlaceRow{SliceRow: row, Better: int64(r.better(row.Key))})
	}
	return places
}

// frame is what a read of the day saw, told besides what the boards said.
func (r ranking) frame(boards Read, day string) Read {
	boards.Span, boards.AsOf, boards.Total = day, r.day.asOf, int64(len(r.entries))
	return boards
}
