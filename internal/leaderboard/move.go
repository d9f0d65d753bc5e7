package leaderboard

import "fmt"

// movedOf are the days that have boards which a move is about.
func (c Config) movedOf(p Progress, r Row) []string {
	if r.Of == "" || !c.keepsDays() {
		return nil
	}
	var days []string
	last := min(LastMoved(r.Of), r.Day)
	for day := max(r.Of, p.Oldest); day <= last; day = addDays(day, 1) {
		days = append(days, day)
	}
	return days
}

// movedSpans are the spans that a move is about.
func (c Config) movedSpans(p Progress, r Row) []string {
	if r.Of != "" {
		return c.movedOf(p, r)
	}
	var spans []string
	if c.keeps(All) {
		spans = append(spans, string(All))
	}
	for _, w := range c.rolling() {
		spans = append(spans, Slot(w, 0), Slot(w, 1))
	}
	return spans
}

// move gives the entries of an erased player to the id that the player has now,
// which has entries of its own if results were settled later. A board that a day is
// being taken out of holds still until that is done. Who it was is wiped from the
// ledger some time after: boards that come that late are built anew.
func (p *planner) move(boards []Board, r Row) error {
	for _, roll := range p.state.Rolls {
		for i, lo := range roll.Lo {
			if roll.Cursor[i] > 0 {
				return insideError{lo}
			}
		}
	}
	if r.From == "" {
		return fmt.Errorf("%w: game %s: position %d moves nobody any more", errTorn, p.cfg.Game, r.Pos)
	}
	p.room(1 + 2*len(boards)*p.each)
	for _, b := range boards {
		was, now := p.boards.entry(b, r.From), p.boards.entry(b, r.Holder)
		if was.Newest == 0 {
			continue
		}
		p.put(b, Held{ID: r.From})
		p.put(b, Held{ID: r.Holder, Newest: max(was.Newest, now.Newest), Parts: was.Parts.Add(now.Parts)})
		if dateForm.MatchString(b.Span) && b.Span < p.state.Mark.Day {
			p.open.seals[b.Span] = true
		}
	}
	return nil
}
