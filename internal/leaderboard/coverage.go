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
	multiDay           map[string]string // span of each other board → first day that it holds
}

func (c Config) coverage(p Progress) coverage {
	r := coverage{multiDay: map[string]string{}}
	if c.hasDayBoards() {
		r.oldestDay, r.openDay = p.Oldest, p.Mark.Day
	}
	if c.hasWindow(All) {
		r.multiDay[string(All)] = p.First
	}
	for w, boards := range p.Rolling {
		for i, firstDay := range boards.FirstDay {
			if boards.Cursor[i] == 0 {
				r.multiDay[RollingSpan(w, i)] = firstDay
			}
		}
	}
	return r
}

// boards returns the boards of a kind that hold only whole days.
func (r coverage) boards(kind Kind) []Board {
	var boards []Board
	for _, span := range slices.Sorted(maps.Keys(r.multiDay)) {
		boards = append(boards, Board{kind, span})
	}
	for _, day := range r.days() {
		boards = append(boards, Board{kind, day})
	}
	return boards
}

func (r coverage) days() []string {
	var days []string
	for day := r.oldestDay; day != "" && day <= r.openDay; day = addDays(day, 1) {
		days = append(days, day)
	}
	return days
}

// covers reports whether the board set has a board and the board holds only whole days.
func (r coverage) covers(b Board) bool {
	_, isMultiDay := r.multiDay[b.Span]
	return isMultiDay || r.coversDay(b.Span)
}

func (r coverage) coversDay(day string) bool {
	return datePattern.MatchString(day) && r.oldestDay <= day && day <= r.openDay
}

// datedEntry is an entry of one board, and the commit time of its newest result.
type posting struct {
	board       Board
	entry       BoardEntry
	committedAt int64 // epoch ms
}

// entriesFrom computes one holder's entries on all covered boards from the holder's sums.
func (r coverage) postings(sums []Sum) []posting {
	var all []posting
	for span, from := range r.multiDay {
		if p, found := total(sums, from); found {
			p.board.Span = span
			all = append(all, p)
		}
	}
	for _, s := range sums {
		if r.coversDay(s.Day) {
			entry := BoardEntry{ID: s.Holder, Newest: s.Newest, Aggregates: s.Aggregates}
			all = append(all, posting{Board{s.HolderKind, s.Day}, entry, s.CommittedAt})
		}
	}
	return all
}

// totalSince adds up a holder's sums of a day and later days. found is false if there are
// no such sums. The span of the returned board is empty.
func total(sums []Sum, from string) (p posting, found bool) {
	for _, s := range sums {
		if s.Day < from {
			continue
		}
		p.board.Kind, p.entry.ID = s.HolderKind, s.Holder
		p.entry.Aggregates = p.entry.Aggregates.Add(s.Aggregates)
		p.entry.Newest, p.committedAt = max(p.entry.Newest, s.Newest), max(p.committedAt, s.CommittedAt)
	}
	return p, p.entry.ID != ""
}

// groupByHolder groups sums that are ordered by holder. It ends at the first error.
func byHolder(sums iter.Seq2[Sum, error]) iter.Seq2[[]Sum, error] {
	return func(yield func([]Sum, error) bool) {
		var holderSums []Sum
		for s, err := range sums {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(holderSums) > 0 && (holderSums[0].Holder != s.Holder || holderSums[0].HolderKind != s.HolderKind) {
				if !yield(holderSums, nil) {
					return
				}
				holderSums = nil
			}
			holderSums = append(holderSums, s)
		}
		if len(holderSums) > 0 {
			yield(holderSums, nil)
		}
	}
}
