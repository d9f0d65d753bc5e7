package leaderboard

import (
	"iter"
	"maps"
	"slices"
)

// coverage says which days each board of a copy sums over. A board with an unfinished
// eviction holds part of a day and is not covered.
type coverage struct {
	oldestDay, openDay string            // the days with boards of their own; both empty: there are none
	multiDay           map[string]string // spans of the other boards, with the first day that each holds
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

// boards returns the covered boards of a kind.
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

// covers reports whether a board is covered.
func (r coverage) covers(b Board) bool {
	_, isMultiDay := r.multiDay[b.Span]
	return isMultiDay || r.coversDay(b.Span)
}

func (r coverage) coversDay(day string) bool {
	return datePattern.MatchString(day) && r.oldestDay <= day && day <= r.openDay
}

// posting is an entry of one board, and the time when its newest result was committed.
type posting struct {
	board       Board
	entry       BoardEntry
	committedAt int64 // epoch ms
}

// postings returns the entries that one holder's sums make on the covered boards.
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

// total adds up a holder's sums from a day on. found is false if there are none.
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

// byHolder groups sums, which come holder by holder. It ends at the first error.
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
