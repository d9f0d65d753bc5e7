package leaderboard

import "fmt"

// movedDays returns the days with boards of their own that a move row changes. It returns
// none for a row that changes the boards of several days.
func (c Config) movedDays(p Progress, r Row) []string {
	if r.TargetDay == "" || !c.hasDayBoards() {
		return nil
	}
	var days []string
	last := min(LastMovedDay(r.TargetDay), r.Day)
	for day := max(r.TargetDay, p.Oldest); day <= last; day = addDays(day, 1) {
		days = append(days, day)
	}
	return days
}

// movedSpans returns the spans of the boards that a move row changes.
func (c Config) movedSpans(p Progress, r Row) []string {
	if r.TargetDay != "" {
		return c.movedDays(p, r)
	}
	var spans []string
	if c.hasWindow(All) {
		spans = append(spans, string(All))
	}
	for _, w := range c.rollingWindows() {
		spans = append(spans, RollingSpan(w, 0), RollingSpan(w, 1))
	}
	return spans
}

// applyMove moves the entries of an erased player to the player's new id. The new id may
// have entries already, from later results. If an eviction is unfinished, the row must
// wait. The ledger wipes the former id after some time. Boards that have not applied the
// move by then must be rebuilt.
func (p *planner) applyMove(boards []Board, r Row) error {
	for _, boards := range p.state.Rolling {
		for i, firstDay := range boards.FirstDay {
			if boards.Cursor[i] > 0 {
				return dayEvictingError{firstDay}
			}
		}
	}
	if r.FormerHolder == "" {
		return fmt.Errorf("%w: game %s: the ledger has wiped the former id of the move at position %d", errCorrupt, p.cfg.Game, r.Pos)
	}
	p.reserve(1 + 2*len(boards)*p.writesPerEntry)
	for _, b := range boards {
		former, current := p.contents.entry(b, r.FormerHolder), p.contents.entry(b, r.Holder)
		if former.Newest == 0 {
			continue
		}
		p.setEntry(b, BoardEntry{ID: r.FormerHolder})
		p.setEntry(b, BoardEntry{ID: r.Holder, Newest: max(former.Newest, current.Newest), Aggregates: former.Aggregates.Add(current.Aggregates)})
		if datePattern.MatchString(b.Span) && b.Span < p.state.Mark.Day {
			p.batch.sealDays[b.Span] = true
		}
	}
	return nil
}
