package leaderboard

import (
	"context"
	"fmt"
	"maps"
)

// dayMaintainer evicts and deletes days of one game's served boards. The caller holds the
// apply lease.
type dayMaintainer struct{ *resources }

// maintainOnce evicts one slice of a day or deletes one day's boards. It finishes an eviction
// before it begins another. It reports whether it did something. Boards that are corrupt or
// too far behind are a corruptError.
func (d *dayMaintainer) maintainOnce(ctx context.Context) (isDone bool, err error) {
	cfg, state, err := d.servedBoards(ctx)
	if err != nil || state.Version == "" || state.Watermark.Day == "" { // Apply handles board sets that are missing, corrupt or empty
		return false, err
	}
	window, err := cfg.windowToEvict(state.Progress)
	switch {
	case err != nil:
	case window == "":
		isDone, err = d.deleteOldestDay(ctx, cfg, state)
	default:
		isDone, err = true, d.evictSlice(ctx, cfg, state, window)
	}
	return isDone, corruptErrorOf(state, err)
}

// windowToEvict returns the rolling window to evict from, or "" if there is none. A window
// that is too far behind is errWindowBehind.
func (c Config) windowToEvict(progress Progress) (next Window, err error) {
	today := progress.Watermark.Day
	for _, window := range c.rollingWindows() {
		boards := progress.Rolling[window]
		switch {
		case boards.isTooFarBehind(today, window.Days()):
			return "", fmt.Errorf("%w: %s", errWindowBehind, window)
		case boards.Cursor != [2]int64{}, next == "" && boards.mustEvict(today, window.Days()):
			next = window
		}
	}
	return next, nil
}

// deleteOldestDay deletes the boards of the oldest day that has boards, and reports
// whether it did. It keeps them if the day needs them, or if the ledger does not store the
// day's sums.
func (d *dayMaintainer) deleteOldestDay(ctx context.Context, cfg Config, state BoardSetState) (isDeleted bool, err error) {
	day := state.OldestDay
	if day >= state.oldestNeededDay() {
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

// evictSlice subtracts the next entries of the evicted day from the window's unserved board,
// in one transaction. Example for the window 2d on March 3: the unserved board must hold March
// 3 alone, so the entries of March 2 are subtracted from it, some per transaction.
func (d *dayMaintainer) evictSlice(ctx context.Context, cfg Config, state BoardSetState, window Window) error {
	boards := state.Rolling[window]
	unserved := boards.unservedIndex()
	day := boards.FirstDays[unserved]
	slice, err := d.readDaySlice(ctx, cfg, state, day, boards.Cursor[unserved])
	if err != nil {
		return err
	}
	board, dayBoard := Board{slice.kind, RollingSpan(window, unserved)}, Board{slice.kind, day}
	entries, err := d.store.ReadEntries(ctx, state.BoardSet, map[Board][]string{board: slice.ids, dayBoard: slice.ids})
	if err != nil {
		return err
	}
	eviction := &planner{cfg: cfg, plannedAt: d.now(), state: state, entries: entries}
	eviction.reserveWrites(0)
	for _, id := range slice.ids {
		evicted, exists := eviction.entries[EntryKey{dayBoard, id}]
		after := eviction.entries[EntryKey{board, id}]
		after.ID, after.Aggregates = id, after.Aggregates.Sub(evicted.Aggregates)
		if !exists || !after.Aggregates.isPossible() {
			return fmt.Errorf("%w: game %s: the entry %s has less on %s than on the evicted day", errCorrupt, cfg.Game, id, board.Span)
		}
		eviction.setEntry(board, after, 0)
	}
	boards.Cursor[unserved] += int64(len(slice.ids))
	if slice.isLast {
		boards = boards.withDayEvicted(state.Watermark.Day, window.Days())
	}
	eviction.state.Rolling = maps.Clone(state.Rolling)
	eviction.state.Rolling[window] = boards
	eviction.closeTransaction()
	if err := d.store.Commit(ctx, state.BoardSet, eviction.txs); err != nil {
		return err
	}
	d.metrics.evictedSlices.Inc()
	return nil
}

// daySlice holds the entries of a day that are evicted next. They are of one kind. isLast
// means that the day has no entry after them.
type daySlice struct {
	kind   Kind
	ids    []string
	isLast bool
}

// readDaySlice reads which entries of a day to evict next. The cursor is the number of entries
// evicted before, of all kinds, players first. An empty day has an empty last slice. Boards
// of the day whose size differs from that of their ranking are corrupt.
func (d *dayMaintainer) readDaySlice(ctx context.Context, cfg Config, state BoardSetState, day string, cursor int64) (daySlice, error) {
	boards := []Board{{Players, day}, {Teams, day}}
	inspection, err := d.store.Inspect(ctx, state.BoardSet, nil, boards, nil)
	if err != nil {
		return daySlice{}, err
	}
	remaining := -cursor
	for _, size := range inspection.Sizes {
		remaining += size
	}
	for _, board := range boards {
		size := inspection.Sizes[SizeKey{Board: board}]
		if cursor >= size {
			cursor -= size
			continue
		}
		limit := min(size-cursor, int64(maxEvictionWrites/cfg.writesPerEntry()))
		rankingID := RankingID{Game: cfg.Game, ConfigHash: cfg.Hash(), Board: board, Order: cfg.RankingOrder(ByValue)}
		ids, err := d.store.ReadMembers(ctx, state.BoardSet, rankingID, cursor, int(limit))
		if err == nil && int64(len(ids)) != limit {
			err = fmt.Errorf("%w: game %s: the ranking of %s has %d of %d entries from index %d", errCorrupt, cfg.Game, day, len(ids), limit, cursor)
		}
		return daySlice{board.Kind, ids, limit == remaining}, err
	}
	return daySlice{isLast: true}, nil
}
