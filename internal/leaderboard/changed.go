package leaderboard

// changedBoards lists the boards on which a row changes the entry of its holder.
func (c Config) changedBoards(p Progress, r Row) []Board {
	var spans []string
	switch r.Kind {
	case ResultRow:
		spans = c.spansOf(r.Day)
		for _, w := range c.rollingWindows() {
			spans = append(spans, RollingSpan(w, 0), RollingSpan(w, 1))
		}
	case CorrectionRow:
		spans = c.correctedSpans(p, r.TargetDay)
	case MoveRow:
		spans = c.movedSpans(p, r)
	}
	boards := make([]Board, len(spans))
	for i, span := range spans {
		boards[i] = Board{Kind: r.HolderKind, Span: span}
	}
	return boards
}

// daySpans returns the spans of the boards that hold a day's results, except rolling
// boards: All and the day itself, if the game has these boards.
func (c Config) spansOf(day string) []string {
	var spans []string
	if c.hasWindow(All) {
		spans = append(spans, string(All))
	}
	if c.hasDayBoards() {
		spans = append(spans, day)
	}
	return spans
}

// correctedSpans returns the spans of all boards that hold a day's results. The day itself
// is left out if its own board was deleted.
func (c Config) correctedSpans(p Progress, day string) []string {
	spans := c.spansOf(day)
	if c.hasDayBoards() && day < p.Oldest {
		spans = spans[:len(spans)-1]
	}
	for _, w := range c.rollingWindows() {
		for i, firstDay := range p.Rolling[w].FirstDay {
			if firstDay <= day {
				spans = append(spans, RollingSpan(w, i))
			}
		}
	}
	return spans
}

// hasDayBoards reports whether single days have boards. Rolling windows need them too.
func (c Config) hasDayBoards() bool { return c.hasWindow(Day) || len(c.rollingWindows()) > 0 }

// entryRequests returns requests for the entries that the rows change, without duplicates.
// It also requests the boards of days that the rows end or correct, because the
// transaction stores their sizes.
func (c Config) entryRequests(p Progress, rows []Row) []EntryRequest {
	list := requestList{indexes: map[Board]int{}, known: map[entryKey]bool{}}
	day := p.Mark.Day
	for _, r := range rows {
		switch r.Kind {
		case DayStartRow:
			list.addDay(day)
		case CorrectionRow:
			list.addDay(r.TargetDay)
		case MoveRow:
			for _, moved := range c.movedDays(p, r) {
				list.addDay(moved)
			}
		}
		day = r.Day
		for _, b := range c.changedBoards(p, r) {
			list.addEntry(b, r.Holder)
			if r.Kind == MoveRow {
				list.addEntry(b, r.FormerHolder)
			}
		}
	}
	return list.requests
}

// requestList collects requests without duplicates.
type requestList struct {
	requests []EntryRequest
	indexes  map[Board]int
	known    map[entryKey]bool
}

// entryKey identifies one entry of one board.
type entryKey struct {
	board Board
	id    string
}

// addDay requests the sizes of a day's boards. An empty day adds nothing.
func (w *requestList) addDay(day string) {
	if day == "" {
		return
	}
	for _, kind := range Kinds() {
		w.addBoard(Board{kind, day})
	}
}

// addBoard adds a request for a board's size if there is no request for the board yet. It
// returns the index of the board's request.
func (w *requestList) addBoard(b Board) int {
	if _, known := w.indexes[b]; !known {
		w.indexes[b] = len(w.requests)
		w.requests = append(w.requests, EntryRequest{Board: b})
	}
	return w.indexes[b]
}

func (w *requestList) addEntry(b Board, id string) {
	index := w.addBoard(b)
	if w.known[entryKey{b, id}] {
		return
	}
	w.known[entryKey{b, id}] = true
	w.requests[index].IDs = append(w.requests[index].IDs, id)
}
