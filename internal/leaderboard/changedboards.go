package leaderboard

// changedBoards lists the boards on which a row changes the entry of its holder.
func (c Config) changedBoards(progress Progress, row Row) []Board {
	var spans []string
	switch row.Kind {
	case ResultRow:
		spans = c.daySpans(row.Day)
		for _, window := range c.rollingWindows() {
			spans = append(spans, RollingSpan(window, 0), RollingSpan(window, 1))
		}
	case CorrectionRow:
		spans = c.correctedSpans(progress, row.TargetDay)
	case MoveRow:
		spans = c.movedSpans(progress, row)
	}
	boards := make([]Board, len(spans))
	for i, span := range spans {
		boards[i] = Board{Kind: row.HolderKind, Span: span}
	}
	return boards
}

// daySpans returns the spans of the boards that hold a day's results, except rolling
// boards: All and the day itself, if the game has these boards.
func (c Config) daySpans(day string) []string {
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
func (c Config) correctedSpans(progress Progress, day string) []string {
	spans := c.daySpans(day)
	if c.hasDayBoards() && day < progress.OldestDay {
		spans = spans[:len(spans)-1]
	}
	for _, window := range c.rollingWindows() {
		for i, firstDay := range progress.Rolling[window].FirstDays {
			if firstDay <= day {
				spans = append(spans, RollingSpan(window, i))
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
func (c Config) entryRequests(progress Progress, rows []Row) []EntryRequest {
	list := requestList{indexes: map[Board]int{}, requested: map[entryKey]bool{}}
	day := progress.Watermark.Day
	for _, row := range rows {
		switch row.Kind {
		case DayStartRow:
			list.addDay(day)
		case CorrectionRow:
			list.addDay(row.TargetDay)
		case MoveRow:
			for _, moved := range c.movedDays(progress, row) {
				list.addDay(moved)
			}
		}
		day = row.Day
		for _, board := range c.changedBoards(progress, row) {
			list.addEntry(board, row.Holder)
			if row.Kind == MoveRow {
				list.addEntry(board, row.FormerHolder)
			}
		}
	}
	return list.requests
}

// requestList collects requests without duplicates.
type requestList struct {
	requests  []EntryRequest
	indexes   map[Board]int
	requested map[entryKey]bool
}

// entryKey identifies one entry of one board.
type entryKey struct {
	board Board
	id    string
}

// addDay requests the sizes of a day's boards. An empty day adds nothing.
func (l *requestList) addDay(day string) {
	if day == "" {
		return
	}
	for _, kind := range Kinds() {
		l.addBoard(Board{kind, day})
	}
}

// addBoard adds a request for a board's size if there is no request for the board yet. It
// returns the index of the board's request.
func (l *requestList) addBoard(board Board) int {
	if _, known := l.indexes[board]; !known {
		l.indexes[board] = len(l.requests)
		l.requests = append(l.requests, EntryRequest{Board: board})
	}
	return l.indexes[board]
}

func (l *requestList) addEntry(board Board, id string) {
	index := l.addBoard(board)
	if l.requested[entryKey{board, id}] {
		return
	}
	l.requested[entryKey{board, id}] = true
	l.requests[index].IDs = append(l.requests[index].IDs, id)
}
