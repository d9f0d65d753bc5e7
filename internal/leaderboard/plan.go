package leaderboard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
)

// Maximum numbers of writes per transaction. Each changed entry, added member and removed
// member is one write. Evictions have a lower maximum because they run for minutes. With
// these limits each script takes less than 5 ms on boards of ten million entries.
const (
	maxTransactionWrites = 250
	maxEvictionWrites    = 125
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
)

// corruptError is an errCorrupt of the board set with the given state.
type corruptError struct {
	state BoardSetState
	cause error
}

func (e corruptError) Error() string { return e.cause.Error() }
func (e corruptError) Unwrap() error { return e.cause }

// evictionPendingError means that a row has to wait until the eviction of a day is
// finished.
type evictionPendingError struct{ day string }

func (e evictionPendingError) Error() string { return e.day + " is being evicted from a board" }

// planner turns rows into transactions. Its state and entries are those after the rows
// planned so far.
type planner struct {
	cfg            Config
	writesPerEntry int // writes that a change of one entry needs
	plannedAt      int64
	state          BoardSetState
	entries        workingEntries
	batch          *writeBatch // the open transaction; nil: none
	txs            []Transaction
}

// plan returns the transactions that apply rows, in order, to a board set with the given
// state, and the state after them. entries must have all entries that the rows change.
// Each transaction ends with a whole row, so its watermark says exactly which rows the
// boards hold. If the error is an evictionPendingError, the transactions apply the rows
// before the one that has to wait.
func plan(cfg Config, now int64, state BoardSetState, rows []Row, entries workingEntries) (BoardSetState, []Transaction, error) {
	rowPlanner := &planner{cfg: cfg, writesPerEntry: cfg.writesPerEntry(), plannedAt: now, state: state, entries: entries}
	for _, row := range rows {
		if row.Pos != rowPlanner.state.Watermark.Pos+1 {
			return state, nil, fmt.Errorf("%w: game %s: position %d follows %d", ErrInvalidRows, cfg.Game, row.Pos, rowPlanner.state.Watermark.Pos)
		}
		err := rowPlanner.applyRow(row)
		if errors.As(err, new(evictionPendingError)) {
			rowPlanner.closeTransaction()
			return rowPlanner.state, rowPlanner.txs, err
		}
		if err != nil {
			return state, nil, err
		}
	}
	rowPlanner.closeTransaction()
	return rowPlanner.state, rowPlanner.txs, nil
}

// applyRow adds a row to the open transaction, or to a new one if the open one is full.
func (p *planner) applyRow(row Row) error {
	boards := p.cfg.changedBoards(p.state.Progress, row)
	switch row.Kind {
	case ResultRow:
		p.reserveWrites(len(boards) * p.writesPerEntry)
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
		p.endOpenDay(row)
	default:
		return fmt.Errorf("%w: game %s: the row at position %d has the unknown kind %q", ErrInvalidRows, p.cfg.Game, row.Pos, row.Kind)
	}
	p.advanceWatermark(row)
	return nil
}

// reserveWrites makes sure that the open transaction has room for a number of writes. If
// the open transaction is too full, it closes that one and opens another.
func (p *planner) reserveWrites(writes int) {
	if p.batch != nil && p.batch.writeCount+writes > maxTransactionWrites {
		p.closeTransaction()
	}
	if p.batch == nil {
		p.batch = newWriteBatch()
	}
	p.batch.writeCount += writes
}

// writesPerEntry returns the maximum number of writes for a change of one entry: one for
// the entry, and two per ranking, for a removed and an added member.
func (c Config) writesPerEntry() int { return 1 + 2*len(c.RankingOrders()) }

// addResult adds a result to its holder's entry on a board.
func (p *planner) addResult(board Board, row Row) {
	before := p.entries.entry(board, row.Holder)
	p.setEntry(board, BoardEntry{ID: row.Holder, Newest: row.Pos, Aggregates: before.Aggregates.Add(row.Aggregates)})
	p.batch.asOf[board] = row.CommittedAt
}

// applyCorrection subtracts a result. A day with an unfinished eviction must not change,
// so a correction of its results has to wait.
func (p *planner) applyCorrection(boards []Board, row Row) error {
	for _, boards := range p.state.Rolling {
		if boards.isEvicting(row.TargetDay) {
			return evictionPendingError{row.TargetDay}
		}
	}
	p.reserveWrites(len(boards)*p.writesPerEntry + 1)
	for _, board := range boards {
		after := BoardEntry{ID: row.Holder, Newest: row.Newest, Aggregates: p.entries.entry(board, row.Holder).Aggregates.Add(row.Aggregates)}
		if board.Span == row.TargetDay {
			after.Newest = row.NewestOfTargetDay
		}
		if !after.Aggregates.isPossible() {
			return fmt.Errorf("%w: game %s: the correction at position %d subtracts more from the entry %s on %s than it has", errCorrupt, p.cfg.Game, row.Pos, row.Holder, board.Span)
		}
		p.setEntry(board, after)
		if board.Span == row.TargetDay && row.TargetDay < p.state.Watermark.Day {
			p.batch.resizedDays[row.TargetDay] = true
		}
	}
	return nil
}

// endOpenDay ends the open day: it records the sizes of the day's boards, and rolling
// windows may switch to their other board.
func (p *planner) endOpenDay(row Row) {
	if p.state.Watermark.Day == "" {
		return
	}
	if p.cfg.hasDayBoards() {
		p.batch.resizedDays[p.state.Watermark.Day] = true
	}
	p.state.Rolling = startDayInAllWindows(p.state.Rolling, row.Day)
}

// setEntry stores an entry as it is after a row, or removes it if it has no match.
func (p *planner) setEntry(board Board, after BoardEntry) {
	p.batch.recordBefore(board, after.ID, p.entries.entry(board, after.ID))
	p.entries.set(board, after)
}

// advanceWatermark moves the watermark to a row.
func (p *planner) advanceWatermark(row Row) {
	p.state.Watermark.Pos, p.state.Watermark.RowID, p.state.Watermark.Day = row.Pos, row.ID, row.Day
	if p.state.FirstDay == "" {
		p.state.FirstDay, p.state.OldestDay, p.state.Rolling = row.Day, row.Day, p.cfg.newRollingWindows(row.Day)
	}
}

// closeTransaction turns the open batch into a transaction. It does nothing without an
// open batch.
func (p *planner) closeTransaction() {
	if p.batch == nil {
		return
	}
	tx := p.state.nextTransaction(p.plannedAt)
	tx.Changes, tx.PastDaySizes = p.batch.changes(p.cfg, p.entries), p.batch.daySizes(p.entries)
	p.state.Version = tx.Version
	p.txs = append(p.txs, tx)
	p.batch = nil
}

// nextTransaction returns a transaction without changes. It expects the version of s and
// stores the progress of s.
func (s BoardSetState) nextTransaction(now int64) Transaction {
	tx := Transaction{ExpectedVersion: s.Version, Version: rand.Text(), Loading: s.Loading, PlannedAt: now, Progress: s.Progress}
	tx.Rolling = maps.Clone(s.Rolling)
	return tx
}
