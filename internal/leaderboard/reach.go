package leaderboard

import (
	"iter"
	"maps"
	"slices"
)

// reach says which days each board of a copy stands for. A board in work
// stands for part of a day and is left out.
type reach struct {
	oldest, open string            // the days that have boards of their own, both empty where none has
	wide         map[string]string // of the other boards: the first day that each holds, up to the open one
}

func (c Config) reach(p Progress) reach {
	r := reach{wide: map[string]string{}}
	if c.keepsDays() {
		r.oldest, r.open = p.Oldest, p.Mark.Day
	}
	if c.keeps(All) {
		r.wide[string(All)] = p.First
	}
	for w, roll := range p.Rolls {
		for i, lo := range roll.Lo {
			if roll.Cursor[i] == 0 {
				r.wide[Slot(w, i)] = lo
			}
		}
	}
	return r
}

// boards lists those of a kind.
func (r reach) boards(whose Kind) []Board {
	var boards []Board
	for _, span := range slices.Sorted(maps.Keys(r.wide)) {
		boards = append(boards, Board{whose, span})
	}
	for _, day := range r.days() {
		boards = append(boards, Board{whose, day})
	}
	return boards
}

func (r reach) days() []string {
	var days []string
	for day := r.oldest; day != "" && day <= r.open; day = addDays(day, 1) {
		days = append(days, day)
	}
	return days
}

// has reports whether a board is one of them.
func (r reach) has(b Board) bool {
	_, wide := r.wide[b.Span]
	return wide || r.hasDay(b.Span)
}

func (r reach) hasDay(day string) bool {
	return dateForm.MatchString(day) && r.oldest <= day && day <= r.open
}

// posting is an entry of one board, and when its newest result was committed.
type posting struct {
	board Board
	entry Held
	at    int64 // epoch ms
}

// postings are what one holder's sums come to on each of the boards.
func (r reach) postings(sums []Sum) []posting {
	var all []posting
	for span, from := range r.wide {
		if p, some := total(sums, from); some {
			p.board.Span = span
			all = append(all, p)
		}
	}
	for _, s := range sums {
		if r.hasDay(s.Day) {
			entry := Held{ID: s.Holder, Newest: s.Newest, Parts: s.Parts}
			all = append(all, posting{Board{s.Whose, s.Day}, entry, s.At})
		}
	}
	return all
}

// total adds up what a holder has from a day on; some is false for nothing.
func total(sums []Sum, from string) (p posting, some bool) {
	for _, s := range sums {
		if s.Day < from {
			continue
		}
		p.board.Kind, p.entry.ID = s.Whose, s.Holder
		p.entry.Parts = p.entry.Parts.Add(s.Parts)
		p.entry.Newest, p.at = max(p.entry.Newest, s.Newest), max(p.at, s.At)
	}
	return p, p.entry.ID != ""
}

// byHolder gathers sums that come holder by holder. It ends with the first error.
func byHolder(sums iter.Seq2[Sum, error]) iter.Seq2[[]Sum, error] {
	return func(yield func([]Sum, error) bool) {
		var of []Sum
		for s, err := range sums {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(of) > 0 && (of[0].Holder != s.Holder || of[0].Whose != s.Whose) {
				if !yield(of, nil) {
					return
				}
				of = nil
			}
			of = append(of, s)
		}
		if len(of) > 0 {
			yield(of, nil)
		}
	}
}
