package leaderboard

import (
	"iter"
	"slices"
)

// coverage lists the spans of the boards of a board set that hold only whole days. A board
// with an unfinished eviction holds only part of its first day, so it is not covered.
type coverage []coveredSpan

// coveredSpan is the span of a board, with the first and the last day that it holds.
type coveredSpan struct{ span, firstDay, lastDay string }

func (c Config) coverage(progress Progress) coverage {
	var covered coverage
	openDay := progress.Watermark.Day
	if c.hasWindow(All) {
		covered = append(covered, coveredSpan{string(All), progress.FirstDay, openDay})
	}
	for _, window := range c.rollingWindows() {
		boards, isStarted := progress.Rolling[window]
		for i, firstDay := range boards.FirstDays {
			if isStarted && boards.Cursor[i] == 0 {
				covered = append(covered, coveredSpan{RollingSpan(window, i), firstDay, openDay})
			}
		}
	}
	if c.hasDayBoards() && openDay != "" {
		for day := progress.OldestDay; day <= openDay; day = addDays(day, 1) {
			covered = append(covered, coveredSpan{day, day, day})
		}
	}
	return covered
}

// boards returns the covered boards of a kind.
func (c coverage) boards(kind Kind) []Board {
	boards := make([]Board, len(c))
	for i, covered := range c {
		boards[i] = Board{kind, covered.span}
	}
	return boards
}

// covers reports whether a board is covered.
func (c coverage) covers(board Board) bool {
	return slices.ContainsFunc(c, func(covered coveredSpan) bool { return covered.span == board.Span })
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
	for _, covered := range c {
		total := datedEntry{}
		for _, sum := range sums {
			if covered.firstDay <= sum.Day && sum.Day <= covered.lastDay {
				total.board, total.entry.ID = Board{sum.HolderKind, covered.span}, sum.Holder
				total.entry.Aggregates = total.entry.Aggregates.Add(sum.Aggregates)
				total.entry.Newest, total.committedAt = max(total.entry.Newest, sum.Newest), max(total.committedAt, sum.CommittedAt)
			}
		}
		if total.entry.ID != "" {
			entries = append(entries, total)
		}
	}
	return entries
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
