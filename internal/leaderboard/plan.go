package leaderboard

import (
	"errors"
	"fmt"
	"maps"
)

var (
	// ErrInvalidRows means that the ledger's rows cannot be applied: there is a gap, or a
	// row of a kind that only a newer program knows. The boards do not change.
	ErrInvalidRows = errors.New("ledger rows cannot be applied")

	// errCorrupt means that the entries of boards contradict their progress.
	errCorrupt = errors.New("the boards contradict their progress")

	// errWindowBehind is an errCorrupt: the served board of a rolling window is behind by
	// the window's length.
	errWindowBehind = fmt.Errorf("%w: a rolling window is behind by its length", errCorrupt)

	// errEvictionPending means that a row has to wait until the eviction of a day is finished.
	errEvictionPending = errors.New("a day is being evicted from a board")
)

// corruptError is an errCorrupt of the board set with the given state.
type corruptError struct {
	state BoardSetState
	cause error
}

// corruptErrorOf returns a corruptError if err is an errCorrupt, and any other err unchanged.
func corruptErrorOf(state BoardSetState, err error) error {
	if errors.Is(err, errCorrupt) {
		return corruptError{state, err}
	}
	return err
}

func (e corruptError) Error() string { return e.cause.Error() }
func (e corruptError) Unwrap() error { return e.cause }

// plan returns the transactions that apply rows to a board set, in order. It starts from a
// state and returns the state after them. The map entries must have all entries that the
// rows change. Each transaction ends with a whole row, so its watermark says exactly which
// rows the boards hold. If the error is errEvictionPending, the transactions apply the rows
// before the one that must wait.
func plan(cfg Config, now int64, state BoardSetState, rows []Row, entries map[EntryKey]BoardEntry) (BoardSetState, []Transaction, error) {
	rowPlanner := &planner{cfg: cfg, plannedAt: now, state: state, entries: entries}
	var err error
	for i := 0; i < len(rows) && err == nil; i++ {
		err = rowPlanner.applyRow(rows[i])
	}
	if err != nil && !errors.Is(err, errEvictionPending) {
		return state, nil, err
	}
	rowPlanner.closeTransaction()
	return rowPlanner.state, rowPlanner.txs, err
}

// applyRow adds a row to the open transaction, or to a new one if the open one is full.
func (p *planner) applyRow(row Row) error {
	if row.Pos != p.state.Watermark.Pos+1 {
		return fmt.Errorf("%w: game %s: position %d follows %d", ErrInvalidRows, p.cfg.Game, row.Pos, p.state.Watermark.Pos)
	}
	boards := p.cfg.changedBoards(p.state.Progress, row)
	switch row.Kind {
	case ResultRow:
		p.reserveWrites(len(boards) * p.cfg.writesPerEntry())
		for _, board := range boards {
			p.addResult(board, row)
		}
	case CorrectionRow:
		if err := p.applyCorrection(boards, row); err != nil {
			return err
		}
	case MoveRow:
		if err := p.applyMove(boards, row); err != nil {
			return err
		}
	case DayStartRow:
		p.reserveWrites(1)
		p.state.Rolling = maps.Clone(p.state.Rolling) // earlier transactions have the former state
		for window, boards := range p.state.Rolling {
			p.state.Rolling[window] = boards.withDayStarted(row.Day, window.Days())
		}
	default:
		return fmt.Errorf("%w: game %s: the row at position %d has the unknown kind %q", ErrInvalidRows, p.cfg.Game, row.Pos, row.Kind)
	}
	p.advanceWatermark(row)
	return nil
}

// addResult adds a result to its holder's entry on a board.
func (p *planner) addResult(board Board, row Row) {
	before := p.entries[EntryKey{board, row.Holder}]
	p.setEntry(board, BoardEntry{ID: row.Holder, Newest: row.Pos, Aggregates: before.Aggregates.Add(row.Aggregates)}, row.CommittedAt)
}

// applyCorrection subtracts a result or changes its values. A day with an unfinished eviction must not change,
// so a correction of its results has to wait.
func (p *planner) applyCorrection(boards []Board, row Row) error {
	for _, boards := range p.state.Rolling {
		if boards.isEvicting(row.TargetDay) {
			return errEvictionPending
		}
	}
	p.reserveWrites(len(boards) * p.cfg.writesPerEntry())
	for _, board := range boards {
		after := BoardEntry{ID: row.Holder, Newest: row.Newest, Aggregates: p.entries[EntryKey{board, row.Holder}].Aggregates.Add(row.Aggregates)}
		if board.Span == row.TargetDay {
			after.Newest = row.NewestOfTargetDay
		}
		if !after.Aggregates.isPossible() {
			return fmt.Errorf("%w: game %s: the correction at position %d subtracts more from the entry %s on %s than it has", errCorrupt, p.cfg.Game, row.Pos, row.Holder, board.Span)
		}
		p.setEntry(board, after, 0)
	}
	return nil
}

// applyMove moves the entries of an erased player to the player's new id. The new id may
// have entries already, from later results. If an eviction is unfinished, the row must
// wait. The ledger wipes the former id after some time. Boards that have not applied the
// move by then must be rebuilt.
func (p *planner) applyMove(boards []Board, row Row) error {
	for _, boards := range p.state.Rolling {
		if boards.Cursor != [2]int64{} {
			return errEvictionPending
		}
	}
	if row.FormerHolder == "" {
		return fmt.Errorf("%w: game %s: the ledger has wiped the former id of the move at position %d", errCorrupt, p.cfg.Game, row.Pos)
	}
	p.reserveWrites(2 * len(boards) * p.cfg.writesPerEntry())
	for _, board := range boards {
		former, current := p.entries[EntryKey{board, row.FormerHolder}], p.entries[EntryKey{board, row.Holder}]
		if former.Newest == 0 {
			continue
		}
		p.setEntry(board, BoardEntry{ID: row.FormerHolder}, 0)
		p.setEntry(board, BoardEntry{ID: row.Holder, Newest: max(former.Newest, current.Newest), Aggregates: former.Aggregates.Add(current.Aggregates)}, 0)
	}
	return nil
}

// advanceWatermark moves the watermark to a row.
func (p *planner) advanceWatermark(row Row) {
	p.state.Watermark.Pos, p.state.Watermark.RowID, p.state.Watermark.Day = row.Pos, row.ID, row.Day
	if p.state.FirstDay == "" {
		p.state.FirstDay, p.state.OldestDay, p.state.Rolling = row.Day, row.Day, p.cfg.newRollingWindows(row.Day)
	}
}
