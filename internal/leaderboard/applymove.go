package leaderboard

import "fmt"

// movedDays returns the days with boards of their own that a move row changes. It returns
// none for a row that changes the boards of several days.
func (c Config) movedDays(progress Progress, row Row) []string {
	if row.TargetDay == "" || !c.hasDayBoards() {
		return nil
	}
	var days []string
	last := min(LastMovedDay(row.TargetDay), row.Day)
	for day := max(row.TargetDay, progress.OldestDay); day <= last; day = addDays(day, 1) {
		days = append(days, day)
	}
	return days
}

// movedSpans returns the spans of the boards that a move row changes.
func (c Config) movedSpans(progress Progress, row Row) []string {
	if row.TargetDay != "" {
		return c.movedDays(progress, row)
	}
	var spans []string
	if c.hasWindow(All) {
		spans = append(spans, string(All))
	}
	for _, window := range c.rollingWindows() {
		spans = append(spans, RollingSpan(window, 0), RollingSpan(window, 1))
	}
	return spans
}

// applyMove moves the entries of an erased player to the player's new id. The new id may
// have entries already, from later results. If an eviction is unfinished, the row must
// wait. The ledger wipes the former id after some time. Boards that have not applied the
// move by then must be rebuilt.
func (p *planner) applyMove(boards []Board, row Row) error {
	for _, boards := range p.state.Rolling {
		for i, firstDay := range boards.FirstDays {
			if boards.Cursor[i] > 0 {
				return evictionPendingError{firstDay}
			}
		}
	}
	if row.FormerHolder == "" {
		return fmt.Errorf("%w: game %s: the ledger has wiped the former id of the move at position %d", errCorrupt, p.cfg.Game, row.Pos)
	}
	p.reserveWrites(1 + 2*len(boards)*p.writesPerEntry)
	for _, board := range boards {
		former, current := p.entries.entry(board, row.FormerHolder), p.entries.entry(board, row.Holder)
		if former.Newest == 0 {
			continue
		}
		p.setEntry(board, BoardEntry{ID: row.FormerHolder})
		p.setEntry(board, BoardEntry{ID: row.Holder, Newest: max(former.Newest, current.Newest), Aggregates: former.Aggregates.Add(current.Aggregates)})
		if datePattern.MatchString(board.Span) && board.Span < p.state.Watermark.Day {
			p.batch.resizedDays[board.Span] = true
		}
	}
	return nil
}
