package leaderboard

import "slices"

// boardSpan is the span of a board, with the first and the last day that it holds.
type boardSpan struct {
	span, firstDay, lastDay string
	isPartial               bool // true: part of the first day is evicted
}

// hasDayBoards reports whether single days have boards. Rolling windows need them too.
func (c Config) hasDayBoards() bool { return c.hasWindow(Day) || len(c.rollingWindows()) > 0 }

// multiDaySpans returns the spans of the boards for several days.
func (c Config) multiDaySpans(progress Progress) []boardSpan {
	var spans []boardSpan
	if c.hasWindow(All) {
		spans = append(spans, boardSpan{span: string(All), firstDay: progress.FirstDay, lastDay: progress.Watermark.Day})
	}
	for _, window := range c.rollingWindows() {
		boards := progress.Rolling[window]
		for i, firstDay := range boards.FirstDays {
			spans = append(spans, boardSpan{RollingSpan(window, i), firstDay, progress.Watermark.Day, boards.Cursor[i] > 0})
		}
	}
	return spans
}

// changedBoards lists the boards on which a row changes the entry of its holder. These are the
// boards for several days that hold a day, and boards of single days that were not deleted.
func (c Config) changedBoards(progress Progress, row Row) (boards []Board) {
	multiDay, first, last := row.Day, row.Day, row.Day
	switch {
	case row.Kind == CorrectionRow:
		multiDay, first, last = row.TargetDay, row.TargetDay, row.TargetDay
	case row.Kind == MoveRow && row.TargetDay == "":
		last = ""
	case row.Kind == MoveRow:
		multiDay, first, last = "", row.TargetDay, min(LastMovedDay(row.TargetDay), row.Day)
	case row.Kind != ResultRow:
		return nil
	}
	for _, several := range c.multiDaySpans(progress) {
		if multiDay != "" && several.firstDay <= multiDay {
			boards = append(boards, Board{row.HolderKind, several.span})
		}
	}
	if c.hasDayBoards() {
		for day := max(first, progress.OldestDay); day <= last; day = addDays(day, 1) {
			boards = append(boards, Board{row.HolderKind, day})
		}
	}
	return boards
}

// changedEntries returns the ids of the entries that rows change, each once, by board.
func (c Config) changedEntries(progress Progress, rows []Row) map[Board][]string {
	ids, isListed := map[Board][]string{}, map[EntryKey]bool{}
	for _, row := range rows {
		for _, board := range c.changedBoards(progress, row) {
			for _, id := range []string{row.Holder, row.FormerHolder} {
				if key := (EntryKey{board, id}); id != "" && !isListed[key] {
					isListed[key] = true
					ids[board] = append(ids[board], id)
				}
			}
		}
	}
	return ids
}

// coverage lists the spans of the boards of a board set that hold only whole days.
type coverage []boardSpan

func (c Config) coverage(progress Progress) coverage {
	covered := slices.DeleteFunc(c.multiDaySpans(progress), func(span boardSpan) bool { return span.isPartial })
	if openDay := progress.Watermark.Day; c.hasDayBoards() && openDay != "" {
		for day := progress.OldestDay; day <= openDay; day = addDays(day, 1) {
			covered = append(covered, boardSpan{span: day, firstDay: day, lastDay: day})
		}
	}
	return covered
}

// boards returns the covered boards of the given kinds.
func (c coverage) boards(kinds ...Kind) (boards []Board) {
	for _, kind := range kinds {
		for _, covered := range c {
			boards = append(boards, Board{kind, covered.span})
		}
	}
	return boards
}

// covers reports whether a board is covered.
func (c coverage) covers(board Board) bool {
	return slices.ContainsFunc(c, func(covered boardSpan) bool { return covered.span == board.Span })
}

// datedEntry is an entry, and the commit time of its newest result, epoch ms.
type datedEntry struct {
	BoardEntry
	committedAt int64
}

// add adds a sum to the entries of its holder on all covered boards.
func (c coverage) add(entries map[EntryKey]datedEntry, sum DaySum) {
	for _, covered := range c {
		if sum.Day < covered.firstDay || sum.Day > covered.lastDay {
			continue
		}
		key := EntryKey{Board{sum.HolderKind, covered.span}, sum.Holder}
		entry := entries[key]
		entry.ID, entry.Aggregates = sum.Holder, entry.Aggregates.Add(sum.Aggregates)
		entry.Newest, entry.committedAt = max(entry.Newest, sum.Newest), max(entry.committedAt, sum.CommittedAt)
		entries[key] = entry
	}
}
