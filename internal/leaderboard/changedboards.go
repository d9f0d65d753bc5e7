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
		spans = c.spansWith(progress, row.Day)
	case CorrectionRow:
		spans = c.spansWith(progress, row.TargetDay)
	case MoveRow:
		spans = c.movedSpans(progress, row)
	}
	boards := make([]Board, len(spans))
	for i, span := range spans {
		boards[i] = Board{Kind: row.HolderKind, Span: span}
	}
	return boards
}

// spansWith returns the spans of all boards that hold a day's results. The day itself is
// left out if its own board was deleted.
func (c Config) spansWith(progress Progress, day string) []string {
	spans := c.multiDaySpansWith(progress, day)
	if c.hasDayBoards() && day >= progress.OldestDay {
		spans = append(spans, day)
	}
	return spans
}

// multiDaySpansWith returns the spans of the boards for several days that hold a day's
// results.
func (c Config) multiDaySpansWith(progress Progress, day string) []string {
	var spans []string
	if c.hasWindow(All) {
		spans = append(spans, string(All))
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

// movedSpans returns the spans of the boards that a move row changes.
func (c Config) movedSpans(progress Progress, row Row) []string {
	if row.TargetDay == "" {
		return c.multiDaySpansWith(progress, row.Day)
	}
	var days []string
	if c.hasDayBoards() {
		for day := max(row.TargetDay, progress.OldestDay); day <= min(LastMovedDay(row.TargetDay), row.Day); day = addDays(day, 1) {
			days = append(days, day)
		}
	}
	return days
}

// hasDayBoards reports whether single days have boards. Rolling windows need them too.
func (c Config) hasDayBoards() bool { return c.hasWindow(Day) || len(c.rollingWindows()) > 0 }

// entryRequests returns requests for the entries that the rows change, without duplicates.
func (c Config) entryRequests(progress Progress, rows []Row) []EntryRequest {
	requested := map[Board]map[string]bool{}
	for _, row := range rows {
		for _, board := range c.changedBoards(progress, row) {
			if requested[board] == nil {
				requested[board] = map[string]bool{}
			}
			requested[board][row.Holder] = true
			if row.Kind == MoveRow {
				requested[board][row.FormerHolder] = true
			}
		}
	}
	requests := make([]EntryRequest, 0, len(requested))
	for board, ids := range requested {
		requests = append(requests, EntryRequest{Board: board, IDs: slices.Collect(maps.Keys(ids))})
	}
	return requests
}
