package leaderboard

import (
	"maps"
	"slices"
)

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

// entryKey identifies one entry of one board.
type entryKey struct {
	board Board
	id    string
}

// entryRequests returns requests for the entries that the rows change, without duplicates.
// It also requests the boards of days that the rows end or correct, because the
// transaction stores their sizes.
func (c Config) entryRequests(progress Progress, rows []Row) []EntryRequest {
	requested := map[Board]map[string]bool{}
	request := func(board Board, ids ...string) {
		if requested[board] == nil {
			requested[board] = map[string]bool{}
		}
		for _, id := range ids {
			requested[board][id] = true
		}
	}
	day := progress.Watermark.Day
	for _, row := range rows {
		for _, resizedDay := range c.resizedDays(progress, day, row) {
			request(Board{Players, resizedDay})
			request(Board{Teams, resizedDay})
		}
		for _, board := range c.changedBoards(progress, row) {
			request(board, row.Holder)
			if row.Kind == MoveRow {
				request(board, row.FormerHolder)
			}
		}
		day = row.Day
	}
	requests := make([]EntryRequest, 0, len(requested))
	for board, ids := range requested {
		requests = append(requests, EntryRequest{Board: board, IDs: slices.Collect(maps.Keys(ids))})
	}
	return requests
}

// resizedDays returns the days whose sizes a row may change or store. openDay is the day
// before the row.
func (c Config) resizedDays(progress Progress, openDay string, row Row) []string {
	switch {
	case row.Kind == DayStartRow && openDay != "":
		return []string{openDay}
	case row.Kind == CorrectionRow:
		return []string{row.TargetDay}
	case row.Kind == MoveRow:
		return c.movedDays(progress, row)
	}
	return nil
}
