package leaderboard

import (
	"iter"
	"maps"
	"slices"
)

// coverage says which days each board of a board set holds. A board with an unfinished
// eviction holds only part of its first day, so coverage leaves it out.
type coverage struct {
	oldestDay, openDay string            // first and last day with a board of its own; both empty: no day has one
	multiDaySpans      map[string]string // span of each other board → first day that it holds
}

func (c Config) coverage(progress Progress) coverage {
	covered := coverage{multiDaySpans: map[string]string{}}
	if c.hasDayBoards() {
		covered.oldestDay, covered.openDay = progress.OldestDay, progress.Watermark.Day
	}
	if c.hasWindow(All) {
		covered.multiDaySpans[string(All)] = progress.FirstDay
	}
	for window, boards := range progress.Rolling {
		for i, firstDay := range boards.FirstDays {
			if boards.Cursor[i] == 0 {
				covered.multiDaySpans[RollingSpan(window, i)] = firstDay
			}
		}
	}
	return covered
}

// boards returns the boards of a kind that hold only whole days.
func (c coverage) boards(kind Kind) []Board {
	var boards []Board
	for _, span := range slices.Sorted(maps.Keys(c.multiDaySpans)) {
		boards = append(boards, Board{kind, span})
	}
	for _, day := range c.singleDays() {
		boards = append(boards, Board{kind, day})
	}
	return boards
}

func (c coverage) singleDays() []string {
	var days []string
	for day := c.oldestDay; day != "" && day <= c.openDay; day = addDays(day, 1) {
		days = append(days, day)
	}
	return days
}

// covers reports whether the board set has a board and the board holds only whole days.
func (c coverage) covers(board Board) bool {
	_, isMultiDay := c.multiDaySpans[board.Span]
	return isMultiDay || c.coversDay(board.Span)
}

func (c coverage) coversDay(day string) bool {
	return datePattern.MatchString(day) && c.oldestDay <= day && day <= c.openDay
}

// datedEntry is an entry of one board, and the commit time of its newest result.
type datedEntry struct {
	board       Board
	entry       BoardEntry
	committedAt int64 // epoch ms
}

// entriesFrom computes one holder's entries on all covered boards from the holder's sums.
func (c coverage) entriesFrom(sums []DaySum) []datedEntry {
	var entries []datedEntry
	for span, firstDay := range c.multiDaySpans {
		if entry, found := totalSince(sums, firstDay); found {
			entry.board.Span = span
			entries = append(entries, entry)
		}
	}
	for _, sum := range sums {
		if c.coversDay(sum.Day) {
			boardEntry := BoardEntry{ID: sum.Holder, Newest: sum.Newest, Aggregates: sum.Aggregates}
			entries = append(entries, datedEntry{Board{sum.HolderKind, sum.Day}, boardEntry, sum.CommittedAt})
		}
	}
	return entries
}

// totalSince adds up a holder's sums of a day and later days. found is false if there are
// no such sums. The span of the returned board is empty.
func totalSince(sums []DaySum, firstDay string) (sum datedEntry, found bool) {
	for _, daySum := range sums {
		if daySum.Day < firstDay {
			continue
		}
		sum.board.Kind, sum.entry.ID = daySum.HolderKind, daySum.Holder
		sum.entry.Aggregates = sum.entry.Aggregates.Add(daySum.Aggregates)
		sum.entry.Newest, sum.committedAt = max(sum.entry.Newest, daySum.Newest), max(sum.committedAt, daySum.CommittedAt)
	}
	return sum, sum.entry.ID != ""
}

// groupByHolder groups sums that are ordered by holder. It ends at the first error.
func groupByHolder(sums iter.Seq2[DaySum, error]) iter.Seq2[[]DaySum, error] {
	return func(yield func([]DaySum, error) bool) {
		var holderSums []DaySum
		for sum, err := range sums {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(holderSums) > 0 && (holderSums[0].Holder != sum.Holder || holderSums[0].HolderKind != sum.HolderKind) {
				if !yield(holderSums, nil) {
					return
				}
				holderSums = nil
			}
			holderSums = append(holderSums, sum)
		}
		if len(holderSums) > 0 {
			yield(holderSums, nil)
		}
	}
}
