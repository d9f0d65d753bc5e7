package leaderboard

// touched lists the boards on which a row changes its holder's entry.
func (c Config) touched(p Progress, r Row) []Board {
	var spans []string
	switch r.Kind {
	case ResultRow:
		spans = c.spans(r.Day)
		for _, w := range c.rolling() {
			spans = append(spans, Slot(w, 0), Slot(w, 1))
		}
	case CorrectionRow:
		spans = c.corrected(p, r.Of)
	case MoveRow:
		spans = c.movedSpans(p, r)
	}
	boards := make([]Board, len(spans))
	for i, span := range spans {
		boards[i] = Board{Kind: r.Whose, Span: span}
	}
	return boards
}

// spans are all and a day, as far as they are kept.
func (c Config) spans(day string) []string {
	var spans []string
	if c.keeps(All) {
		spans = append(spans, string(All))
	}
	if c.keepsDays() {
		spans = append(spans, day)
	}
	return spans
}

// corrected are the spans that hold a day: one that has left is not among them.
func (c Config) corrected(p Progress, day string) []string {
	spans := c.spans(day)
	if c.keepsDays() && day < p.Oldest {
		spans = spans[:len(spans)-1]
	}
	for _, w := range c.rolling() {
		for i, lo := range p.Rolls[w].Lo {
			if lo <= day {
				spans = append(spans, Slot(w, i))
			}
		}
	}
	return spans
}

// keepsDays reports whether days have boards: rolling windows need them too.
func (c Config) keepsDays() bool { return c.keeps(Day) || len(c.rolling()) > 0 }

// wants names every entry that rows touch, once, and the days that they end or
// correct, whose sizes are sealed.
func (c Config) wants(p Progress, rows []Row) []Want {
	w := wishes{at: map[Board]int{}, seen: map[spot]bool{}}
	day := p.Mark.Day
	for _, r := range rows {
		switch r.Kind {
		case TurnRow:
			w.day(day)
		case CorrectionRow:
			w.day(r.Of)
		case MoveRow:
			for _, moved := range c.movedOf(p, r) {
				w.day(moved)
			}
		}
		day = r.Day
		for _, b := range c.touched(p, r) {
			w.entry(b, r.Holder)
			if r.Kind == MoveRow {
				w.entry(b, r.From)
			}
		}
	}
	return w.all
}

// wishes gathers wants.
type wishes struct {
	all  []Want
	at   map[Board]int
	seen map[spot]bool
}

// spot is the place of one entry.
type spot struct {
	board Board
	id    string
}

// day wants the sizes of a day's boards, if there is a day.
func (w *wishes) day(day string) {
	if day == "" {
		return
	}
	for _, kind := range Kinds() {
		w.board(Board{kind, day})
	}
}

// board wants a board's size at least, and says where its want is.
func (w *wishes) board(b Board) int {
	if _, known := w.at[b]; !known {
		w.at[b] = len(w.all)
		w.all = append(w.all, Want{Board: b})
	}
	return w.at[b]
}

func (w *wishes) entry(b Board, id string) {
	at := w.board(b)
	if w.seen[spot{b, id}] {
		return
	}
	w.seen[spot{b, id}] = true
	w.all[at].IDs = append(w.all[at].IDs, id)
}
