package leaderboard

import (
	"context"
	"errors"
	"fmt"

	"laststand/internal/timer"
)

const (
	rowsPerRead    = 500 // maximum number of ledger rows per read
	maxFailedTries = 100 // tries before Apply gives up
)

// ErrContended means that other appliers changed the boards at every try. They apply the
// same rows, so no row is lost.
var ErrContended = errors.New("other appliers changed the leaderboards at every try; try again")

// errNoBoards means that no boards are served to which rows can be applied. The caller
// must build boards first.
var errNoBoards = errors.New("no usable boards are served")

// rowApplier applies the rows of one game's ledger to board sets.
type rowApplier struct {
	*resources
	days     *dayMaintainer
	dayEnded chan struct{} // at most one signal: a day has ended, so days must be evicted
}

// applyAll applies pages of rows to the served board set until no rows are left. If a row
// must wait for an eviction, it does one transaction of maintenance. The caller holds the
// apply lease.
func (a *rowApplier) applyAll(ctx context.Context) error {
	for {
		cfg, state, err := a.servedBoards(ctx)
		if err != nil {
			return err
		}
		if state.Version == "" || state.Watermark.Epoch != a.ledger.Epoch() {
			return fmt.Errorf("%w: the boards are missing, corrupt, or of another ledger", errNoBoards)
		}
		_, more, err := a.applyPage(ctx, cfg, state)
		if errors.Is(err, errEvictionPending) {
			more = true
			_, err = a.days.maintainOnce(ctx)
		}
		if err == nil && more {
			err = a.renewLease(ctx, a.applyLease)
		}
		if err != nil || !more {
			return err
		}
	}
}

// applyPage applies the next page of rows to a board set, and returns its state after them.
// It reports whether there may be more rows.
func (a *rowApplier) applyPage(ctx context.Context, cfg Config, state BoardSetState) (stateAfter BoardSetState, more bool, err error) {
	rows, hasMarkRow, err := a.rowsAfter(ctx, state.Watermark, rowsPerRead)
	if err != nil {
		return state, false, err
	}
	if !hasMarkRow {
		return state, false, fmt.Errorf("%w: the ledger was rolled back behind position %d", errNoBoards, state.Watermark.Pos)
	}
	a.metrics.rowsBehind.Set(float64(len(rows)))
	stateAfter, err = a.commitRows(ctx, cfg, state, rows)
	if err == nil && len(rows) < rowsPerRead {
		a.metrics.rowsBehind.Set(0)
	}
	return stateAfter, err == nil && len(rows) == rowsPerRead, err
}

// commitRows commits rows to a board set, and returns its state after them. If a row must
// wait for an eviction, the error is errEvictionPending, and the rows before it are applied.
func (a *rowApplier) commitRows(ctx context.Context, cfg Config, state BoardSetState, rows []Row) (BoardSetState, error) {
	if len(rows) == 0 {
		return state, nil
	}
	entries, err := a.store.ReadEntries(ctx, state.BoardSet, cfg.changedEntries(state.Progress, rows))
	if err != nil {
		return state, err
	}
	stateAfter, txs, planErr := plan(cfg, a.now(), state, rows, entries)
	planErr = corruptErrorOf(state, planErr)
	if len(txs) == 0 {
		return state, planErr
	}
	if err := a.store.Commit(ctx, state.BoardSet, txs); err != nil {
		return state, err
	}
	a.metrics.appliedRows.Add(float64(stateAfter.Watermark.Pos - state.Watermark.Pos))
	if stateAfter.Watermark.Day != state.Watermark.Day {
		timer.Wake(a.dayEnded)
	}
	return stateAfter, planErr
}
