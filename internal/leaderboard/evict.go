package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

const maxSkippedDays = 400 // maximum number of empty days that one transaction skips

// dayMaintainer evicts and deletes days of one game's served boards. The caller holds the
// apply lease.
type dayMaintainer struct{ *resources }

// maintainOnce evicts one slice of a day or deletes one day's boards. It returns the
// windows' state after that. nil means that nothing is left to do, or that another node
// has evicted entries since the state rollingBefore, which may be nil. Boards that are
// corrupt or too far behind are a corruptError.
func (d *dayMaintainer) maintainOnce(ctx context.Context, cfg Config, rollingBefore map[Window]RollingBoards) (map[Window]RollingBoards, error) {
	state, err := d.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil || state.Version == "" || state.Watermark.Day == "" { // Apply handles board sets that are missing, corrupt or empty
		return nil, err
	}
	if rollingBefore != nil && hasEvictionBetween(rollingBefore, state.Rolling) {
		return nil, nil
	}
	for _, window := range cfg.rollingWindows() {
		boards, today := state.Rolling[window], state.Watermark.Day
		if boards.isTooFarBehind(today, window.Days()) {
			return nil, corruptError{state, fmt.Errorf("%w: %s", errWindowBehind, window)}
		}
		if boards.mustEvict(today, window.Days()) {
			return d.evictSlice(ctx, cfg, state, window)
		}
	}
	if isDeleted, err := d.deleteOldestDay(ctx, cfg, state); err != nil || !isDeleted {
		return nil, err
	}
	return state.Rolling, nil
}

// deleteOldestDay deletes the boards of the oldest day that has boards, and reports
// whether it did. It keeps them if the day is one of the last two days, if a rolling
// board holds the day, or if the ledger does not store the day's sums.
func (d *dayMaintainer) deleteOldestDay(ctx context.Context, cfg Config, state BoardSetState) (isDeleted bool, err error) {
	day := state.OldestDay
	if day >= addDays(state.Watermark.Day, -1) {
		return false, nil
	}
	if firstRollingDay := earliestDay(state.Rolling); firstRollingDay != "" && firstRollingDay <= day {
		return false, nil
	}
	hasSums, err := d.ledger.HasDaySums(ctx, cfg.Game, day)
	if err != nil || !hasSums {
		return false, err
	}
	state.OldestDay = addDays(day, 1)
	tx := state.nextTransaction(d.now())
	tx.DeletedDays = []string{day}
	return true, d.store.Commit(ctx, state.BoardSet, []Transaction{tx})
}

// finishEviction finishes the evictions of a day, in all windows where they have begun. It
// renews the apply lease after each slice.
func (d *dayMaintainer) finishEviction(ctx context.Context, cfg Config, day string) error {
	for {
		state, err := d.store.ServedState(ctx, cfg.Game, cfg.Hash())
		if err != nil {
			return err
		}
		window, found := cfg.evictingWindow(state.Rolling, day)
		if !found {
			return nil
		}
		if _, err := d.evictSlice(ctx, cfg, state, window); err != nil {
			return err
		}
		if err := d.renewLease(ctx, applyLeaseID(cfg), applyLeaseTTL); err != nil {
			return err
		}
	}
}

// evictingWindow returns a window in which the eviction of a day has begun but is not
// finished.
func (c Config) evictingWindow(rolling map[Window]RollingBoards, day string) (window Window, found bool) {
	for _, window := range c.rollingWindows() {
		if rolling[window].isEvicting(day) {
			return window, true
		}
	}
	return "", false
}

// evictSlice commits the next slice of a window's eviction, and returns the windows' state
// after it. Corrupt boards are a corruptError.
func (d *dayMaintainer) evictSlice(ctx context.Context, cfg Config, state BoardSetState, window Window) (map[Window]RollingBoards, error) {
	tx, err := d.planEviction(ctx, cfg, state, window)
	if errors.Is(err, errCorrupt) {
		return nil, corruptError{state, err}
	}
	if err != nil {
		return nil, err
	}
	if err := d.store.Commit(ctx, state.BoardSet, []Transaction{tx}); err != nil {
		return nil, err
	}
	d.metrics.evictedSlices.Inc()
	return tx.Rolling, nil
}

// planEviction plans the transaction that subtracts the next entries of the evicted day
// from the window's unserved board. Example for the window 2d on March 3: the unserved
// board must hold March 3 alone, so the entries of March 2 are subtracted from it, some
// per transaction.
func (d *dayMaintainer) planEviction(ctx context.Context, cfg Config, state BoardSetState, window Window) (Transaction, error) {
	boards := state.Rolling[window]
	if boardsAfter, hasSkipped := boards.skipEmptyDays(state.Progress, window.Days()); hasSkipped {
		return state.rollingTransaction(d.now(), window, boardsAfter), nil
	}
	evictedDay := boards.FirstDays[boards.unservedIndex()]
	sizes, found, err := d.store.ReadDaySizes(ctx, state.BoardSet, evictedDay)
	if err != nil {
		return Transaction{}, err
	}
	if !found {
		return Transaction{}, fmt.Errorf("%w: game %s has no stored sizes of the day %s", errCorrupt, cfg.Game, evictedDay)
	}
	evictedRange := cfg.dayRangeAt(sizes, boards.Cursor[boards.unservedIndex()])
	if evictedRange.limit == 0 {
		return state.rollingTransaction(d.now(), window, boards.withDayEvicted(state.Watermark.Day, window.Days())), nil
	}
	rankingID := RankingID{Game: cfg.Game, ConfigHash: cfg.Hash(), Board: Board{evictedRange.kind, evictedDay}, Order: cfg.RankingOrder(ByValue)}
	members, err := d.store.ReadMembers(ctx, state.BoardSet, rankingID, evictedRange.start, evictedRange.limit)
	if err != nil {
		return Transaction{}, err
	}
	if len(members) != evictedRange.limit {
		return Transaction{}, fmt.Errorf("%w: game %s: the ranking of %s has %d of %d entries from index %d", errCorrupt, cfg.Game, evictedDay, len(members), evictedRange.limit, evictedRange.start)
	}
	return d.planSubtraction(ctx, cfg, state, evictionSlice{window, evictedRange, members})
}

// skipEmptyDays returns the state after the evictions of days before the ledger's first
// day, which are empty. hasSkipped is false if there is no such day to evict.
func (r RollingBoards) skipEmptyDays(progress Progress, windowDays int) (after RollingBoards, hasSkipped bool) {
	for range maxSkippedDays {
		if !r.mustEvict(progress.Watermark.Day, windowDays) || r.FirstDays[r.unservedIndex()] >= progress.FirstDay {
			break
		}
		r, hasSkipped = r.withDayEvicted(progress.Watermark.Day, windowDays), true
	}
	return r, hasSkipped
}

// dayRange is a range of a past day's entries of one kind: limit entries from index start
// of a ranking that ranks every entry. isLast means that the day has no entry after it.
type dayRange struct {
	kind   Kind
	start  int64
	limit  int
	isLast bool
}

// dayRangeAt returns the range of entries to evict next. The cursor is the number of
// entries evicted before, of all kinds, players first. limit is 0 at the day's end.
func (c Config) dayRangeAt(sizes DaySizes, cursor int64) dayRange {
	remaining := -cursor
	for _, kind := range Kinds() {
		remaining += sizes.Sizes[kind]
	}
	for _, kind := range Kinds() {
		if size := sizes.Sizes[kind]; cursor < size {
			limit := min(size-cursor, int64(maxEvictionWrites/c.writesPerEntry()))
			return dayRange{kind, cursor, int(limit), limit == remaining}
		}
		cursor -= sizes.Sizes[kind]
	}
	return dayRange{}
}

// evictionSlice holds the entries of a day to subtract from a window's unserved board.
type evictionSlice struct {
	window Window
	dayRange
	members []BoardEntry
}

// planSubtraction plans the transaction that subtracts a slice's entries from the board.
func (d *dayMaintainer) planSubtraction(ctx context.Context, cfg Config, state BoardSetState, slice evictionSlice) (Transaction, error) {
	boards := state.Rolling[slice.window]
	board := Board{slice.kind, RollingSpan(slice.window, boards.unservedIndex())}
	requests := []EntryRequest{{Board: board}}
	for _, entry := range slice.members {
		requests[0].IDs = append(requests[0].IDs, entry.ID)
	}
	results, err := d.store.ReadEntries(ctx, state.BoardSet, requests)
	if err != nil {
		return Transaction{}, err
	}
	entries, batch := newWorkingEntries(requests, results), newWriteBatch()
	for _, entry := range slice.members {
		before := entries.entry(board, entry.ID)
		after := BoardEntry{ID: entry.ID, Newest: before.Newest, Aggregates: before.Aggregates.Sub(entry.Aggregates)}
		if !after.Aggregates.isPossible() {
			return Transaction{}, fmt.Errorf("%w: game %s: the entry %s has less on %s than on the evicted day", errCorrupt, cfg.Game, entry.ID, board.Span)
		}
		batch.recordBefore(board, entry.ID, before)
		entries.set(board, after)
	}
	boards.Cursor[boards.unservedIndex()] += int64(len(slice.members))
	if slice.isLast {
		boards = boards.withDayEvicted(state.Watermark.Day, slice.window.Days())
	}
	tx := state.rollingTransaction(d.now(), slice.window, boards)
	tx.Changes = batch.changes(cfg, entries)
	return tx, nil
}

// rollingTransaction returns a transaction that changes the state of one rolling window.
// The caller adds the changes of entries.
func (s BoardSetState) rollingTransaction(now int64, window Window, boards RollingBoards) Transaction {
	s.Rolling = maps.Clone(s.Rolling)
	s.Rolling[window] = boards
	return s.nextTransaction(now)
}
