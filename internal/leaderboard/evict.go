package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

const maxEmptyDays = 400 // maximum number of empty days that one transaction skips

// evictNextSlice evicts the next slice of a day from the unserved board of a rolling
// window, or skips empty days. It returns the windows' state after that, or nil if no
// window has a day to evict.
func (a *Applier) evictNext(ctx context.Context, cfg Config, state State) (map[Window]RollingBoards, error) {
	for _, w := range cfg.rollingWindows() {
		if boards, known := state.Rolling[w]; known && boards.mustEvict(state.Mark.Day, w.Days()) {
			return a.evictSlice(ctx, cfg, state, w)
		}
	}
	return nil, nil
}

// finishEviction finishes the evictions of a day, in all windows where they have begun. It
// renews the apply lease after each slice.
func (a *Applier) finishEviction(ctx context.Context, cfg Config, day string) error {
	for {
		state, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
		if err != nil {
			return err
		}
		w, found := cfg.evictingWindow(state.Rolling, day)
		if !found {
			return nil
		}
		if _, err := a.evictSlice(ctx, cfg, state, w); err != nil {
			return err
		}
		if err := a.renewLease(ctx, applyDuty(cfg), leaseTTL); err != nil {
			return err
		}
	}
}

// evictingWindow returns a window in which the eviction of a day has begun but is not
// finished.
func (c Config) evictingWindow(rolling map[Window]RollingBoards, day string) (w Window, found bool) {
	for _, w := range c.rollingWindows() {
		if rolling[w].isEvicting(day) {
			return w, true
		}
	}
	return "", false
}

// evictSlice commits the next slice of a window's eviction, and returns the windows' state
// after it. It returns errNoBoards if the board set is corrupt.
func (a *Applier) evictSlice(ctx context.Context, cfg Config, state State, w Window) (map[Window]RollingBoards, error) {
	step, err := a.planEviction(ctx, cfg, state, w)
	if errors.Is(err, errCorrupt) {
		return nil, a.markCorrupt(ctx, cfg, state, err)
	}
	if err != nil {
		return nil, err
	}
	if err := a.store.Commit(ctx, state.Generation, []Step{step}); err != nil {
		return nil, err
	}
	a.metrics.slices.WithLabelValues(cfg.Game).Inc()
	return step.Rolling, nil
}

// planEviction plans the transaction that subtracts the next entries of the evicted day
// from the window's unserved board. Example for the window 2d on March 3: the unserved
// board must hold March 3 alone, so the entries of March 2 are subtracted from it, some
// per transaction.
func (a *Applier) planEviction(ctx context.Context, cfg Config, state State, w Window) (Step, error) {
	boards := state.Rolling[w]
	if after, skipped := boards.skipEmptyDays(state.Progress, w.Days()); skipped {
		return state.withRolling(a.now(), w, after), nil
	}
	leaving := boards.FirstDay[boards.unserved()]
	sealed, known, err := a.store.ReadSealedDay(ctx, state.Generation, leaving)
	if err != nil {
		return Step{}, err
	}
	if !known {
		return Step{}, fmt.Errorf("%w: game %s has no stored sizes of the day %s", errCorrupt, cfg.Game, leaving)
	}
	part := cfg.dayPartAt(sealed, boards.Cursor[boards.unserved()])
	if part.limit == 0 {
		return state.withRolling(a.now(), w, boards.finishDay(state.Mark.Day, w.Days())), nil
	}
	v := View{Game: cfg.Game, ConfigHash: cfg.Hash(), Board: Board{part.kind, leaving}, Ranking: cfg.Ranking(ByValue)}
	members, err := a.store.ReadMembers(ctx, state.Generation, v, part.from, part.limit)
	if err != nil {
		return Step{}, err
	}
	if len(members) != part.limit {
		return Step{}, fmt.Errorf("%w: game %s: the ranking of %s has %d of %d entries from index %d", errCorrupt, cfg.Game, leaving, len(members), part.limit, part.from)
	}
	return a.planSubtraction(ctx, cfg, state, eviction{w, part, members})
}

// skipEmptyDays returns the state after the evictions of days before the ledger's first
// day, which are empty. hasSkipped is false if there is no such day to evict.
func (r RollingBoards) skipEmptyDays(p Progress, n int) (after RollingBoards, skipped bool) {
	for range maxEmptyDays {
		if !r.mustEvict(p.Mark.Day, n) || r.FirstDay[r.unserved()] >= p.First {
			break
		}
		r, skipped = r.finishDay(p.Mark.Day, n), true
	}
	return r, skipped
}

// dayRange is a range of a past day's entries of one kind: limit entries from index start
// of a ranking that ranks every entry. isLast means that the day has no entry after it.
type dayPart struct {
	kind   Kind
	from   int64
	limit  int
	isLast bool
}

// dayRangeAt returns the range of entries to evict next. The cursor is the number of
// entries evicted before, of all kinds, players first. limit is 0 at the day's end.
func (c Config) dayPartAt(s SealedDay, cursor int64) dayPart {
	remaining := -cursor
	for _, kind := range Kinds() {
		remaining += s.Sizes[kind]
	}
	for _, kind := range Kinds() {
		if n := s.Sizes[kind]; cursor < n {
			limit := min(n-cursor, int64(evictionWrites/c.writesPerEntry()))
			return dayPart{kind, cursor, int(limit), limit == remaining}
		}
		cursor -= s.Sizes[kind]
	}
	return dayPart{}
}

// evictionSlice holds the entries of a day to subtract from a window's unserved board.
type eviction struct {
	window Window
	dayPart
	members []BoardEntry
}

// planSubtraction plans the transaction that subtracts a slice's entries from the board.
func (a *Applier) planSubtraction(ctx context.Context, cfg Config, state State, slice eviction) (Step, error) {
	boards := state.Rolling[slice.window]
	board := Board{slice.kind, RollingSpan(slice.window, boards.unserved())}
	requests := []EntryRequest{{Board: board}}
	for _, m := range slice.members {
		requests[0].IDs = append(requests[0].IDs, m.ID)
	}
	answers, err := a.store.ReadEntries(ctx, state.Generation, requests)
	if err != nil {
		return Step{}, err
	}
	contents, batch := contentsOf(requests, answers), newWriteBatch()
	for _, m := range slice.members {
		before := contents.entry(board, m.ID)
		after := BoardEntry{ID: m.ID, Newest: before.Newest, Aggregates: before.Aggregates.Sub(m.Aggregates)}
		if !after.Aggregates.isPossible() {
			return Step{}, fmt.Errorf("%w: game %s: the entry %s has less on %s than on the evicted day", errCorrupt, cfg.Game, m.ID, board.Span)
		}
		batch.noteBefore(board, m.ID, before)
		contents.set(board, after)
	}
	boards.Cursor[boards.unserved()] += int64(len(slice.members))
	if slice.isLast {
		boards = boards.finishDay(state.Mark.Day, slice.window.Days())
	}
	step := state.withRolling(a.now(), slice.window, boards)
	step.Changes = batch.changes(cfg, contents)
	return step, nil
}

// rollingTransaction returns a transaction that changes the state of one rolling window.
// The caller adds the changes of entries.
func (s State) withRolling(now int64, w Window, boards RollingBoards) Step {
	s.Rolling = maps.Clone(s.Rolling)
	s.Rolling[w] = boards
	return s.nextStep(now)
}
