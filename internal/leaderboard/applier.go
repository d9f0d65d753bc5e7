package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	rowsPerRead    = 500 // maximum number of ledger rows per read
	maxFailedTries = 100 // passes in a row without progress before Apply gives up
)

// errNoBoards means that no boards are served to which rows can be applied. The caller
// must build boards first.
var errNoBoards = errors.New("no usable boards are served")

// ErrContended means that other appliers changed the boards at every try. They apply the
// same rows, so no row is lost.
var ErrContended = errors.New("other appliers changed the leaderboards at every try; try again")

// Applier keeps every game's boards up to date with its ledger. Several appliers, on any
// nodes, may work at the same time. Each transaction is a compare-and-set on the version
// of the board set that it was computed from, so every row counts exactly once. A lease
// saves work: normally only one applier at a time computes transactions. Safe for
// concurrent use.
type Applier struct {
	games         map[string]Config
	applyCalls    map[string]*singleflight
	applyLocks    map[string]ctxLock // for goroutines of this node; leases are for other nodes
	buildLocks    map[string]ctxLock
	buildSignals  map[string]chan struct{} // at most one signal: there may be a board set to build
	dayEndSignals map[string]chan struct{} // at most one signal: a day has ended, so days must be evicted
	readiness     readiness
	holderID      string // random id of this applier as a holder of leases
	ledger        Ledger
	store         Store
	now           func() int64
	log           *slog.Logger
	metrics       *metrics
}

// ApplierOptions must be complete. Games are valid Configs. Now returns epoch ms. Sweep
// uses it to find abandoned board sets. The ledger alone decides the days.
type ApplierOptions struct {
	Games    []Config
	Ledger   Ledger
	Store    Store
	Now      func() int64
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// NewApplier returns an applier. Call Run for the background work.
func NewApplier(options ApplierOptions) *Applier {
	applier := &Applier{
		games: map[string]Config{}, applyCalls: map[string]*singleflight{},
		applyLocks: map[string]ctxLock{}, buildLocks: map[string]ctxLock{}, buildSignals: map[string]chan struct{}{}, dayEndSignals: map[string]chan struct{}{}, holderID: rand.Text(),
		readiness: readiness{readyGames: map[string]bool{}, failingSince: map[string]time.Time{}},
		ledger:    options.Ledger, store: options.Store, now: options.Now, log: options.Log, metrics: newMetrics(options.Registry),
	}
	for _, cfg := range options.Games {
		applier.games[cfg.Game] = cfg
		applier.applyCalls[cfg.Game] = newSingleflight()
		applier.applyLocks[cfg.Game], applier.buildLocks[cfg.Game] = newCtxLock(), newCtxLock()
		applier.buildSignals[cfg.Game] = make(chan struct{}, 1)
		applier.dayEndSignals[cfg.Game] = make(chan struct{}, 1)
	}
	return applier
}

// Run maintains the boards of every game until ctx ends. It applies rows that no call of
// Apply has applied, evicts and deletes days, builds new board sets and removes old ones.
// It logs errors, tries again, and returns nil.
func (a *Applier) Run(ctx context.Context) error {
	var games sync.WaitGroup
	for game := range a.games {
		games.Go(func() { a.maintainGame(ctx, game) })
	}
	games.Wait()
	return nil
}

// Apply returns nil once the served boards hold every row that the ledger held at the
// time of the call. Concurrent calls for one game share their work. Apply builds boards
// that are lost, corrupt, or ahead of a ledger that was rolled back. After an error the
// caller may call it again; rows that were applied stay applied.
func (a *Applier) Apply(ctx context.Context, game string) error {
	cfg, known := a.games[game]
	if !known {
		return fmt.Errorf("apply the ledger of %q: no such game", game)
	}
	err := a.applyCalls[game].do(ctx, func() error { return a.catchUp(ctx, cfg) })
	if err != nil {
		return fmt.Errorf("apply the ledger of %q: %w", game, err)
	}
	return nil
}

// catchUp applies rows to the served boards, and builds boards if none are served. It
// retries until the boards hold all rows.
func (a *Applier) catchUp(ctx context.Context, newestConfig Config) error {
	began := time.Now()
	for range maxFailedTries {
		isApplied, err := a.applyToServed(ctx, newestConfig)
		if isApplied {
			a.metrics.applyDuration.WithLabelValues(newestConfig.Game).Observe(time.Since(began).Seconds())
			return nil
		}
		if errors.Is(err, errNoBoards) {
			err = a.build(ctx, newestConfig)
		}
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
	}
	return ErrContended
}

// applyToServed applies rows to the served boards. It returns false if another board set
// was published during the call, because that one may lack rows.
func (a *Applier) applyToServed(ctx context.Context, newestConfig Config) (isApplied bool, err error) {
	cfg, err := a.servedConfig(ctx, newestConfig)
	if err != nil {
		return false, err
	}
	err = a.withApplyLease(ctx, cfg, func() error { return a.applyRows(ctx, cfg) }, a.newAppliedCheck(ctx, cfg))
	if err != nil || cfg.Hash() == newestConfig.Hash() {
		return err == nil, err
	}
	servedAfter, err := a.servedConfig(ctx, newestConfig)
	return err == nil && servedAfter.Hash() == cfg.Hash(), err
}

// servedConfig returns the configuration of the boards that readers see: the newest one,
// or the fallback while no boards of the newest one are served. In that case it wakes
// the builder.
func (a *Applier) servedConfig(ctx context.Context, newestConfig Config) (Config, error) {
	state, err := a.store.ServedState(ctx, newestConfig.Game, newestConfig.Hash())
	if err != nil || state.ID != "" {
		return newestConfig, err
	}
	fallback, found, err := fallbackConfig(ctx, a.store, newestConfig)
	if err != nil || !found {
		return newestConfig, err
	}
	a.wakeBuilder(newestConfig.Game)
	return fallback, nil
}

// applyRows applies pages of rows to the served board set until no rows are left. The
// caller holds the apply lease.
func (a *Applier) applyRows(ctx context.Context, cfg Config) error {
	for tries := 0; tries < maxFailedTries; tries++ {
		more, err := a.applyPage(ctx, cfg)
		switch {
		case err == nil && !more:
			return nil
		case err == nil:
			tries = 0
			if err := a.renewLease(ctx, applyLeaseID(cfg), applyLeaseTTL); err != nil {
				return err
			}
		case !errors.Is(err, ErrStale):
			return err
		}
	}
	return ErrContended
}

// applyPage applies the next page of rows. It reports whether there may be more rows.
func (a *Applier) applyPage(ctx context.Context, cfg Config) (more bool, err error) {
	state, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return false, err
	}
	if state.Version == "" || state.Watermark.Epoch != a.ledger.Epoch() {
		return false, fmt.Errorf("%w: game %s: the boards are missing, corrupt, or of another ledger", errNoBoards, cfg.Game)
	}
	rows, hasMarkRow, err := a.rowsAfter(ctx, cfg.Game, state.Watermark)
	if err != nil {
		return false, err
	}
	if !hasMarkRow {
		return false, fmt.Errorf("%w: game %s: the ledger was rolled back behind position %d", errNoBoards, cfg.Game, state.Watermark.Pos)
	}
	rowsBehind := a.metrics.rowsBehind.WithLabelValues(cfg.Game)
	rowsBehind.Set(float64(len(rows)))
	var evictionErr evictionPendingError
	switch err := a.commitRows(ctx, cfg, state, rows); {
	case errors.As(err, &evictionErr):
		return true, a.finishEviction(ctx, cfg, evictionErr.day)
	case errors.Is(err, errCorrupt):
		return false, a.requestRepair(ctx, cfg, state, err)
	case err != nil:
		return false, err
	}
	if len(rows) == rowsPerRead {
		return true, nil
	}
	rowsBehind.Set(0)
	return false, nil
}

// rowsAfter returns the next rows after a watermark, and whether the ledger still has the
// watermark's row. One read answers both, so no rollback can happen in between.
func (a *Applier) rowsAfter(ctx context.Context, game string, mark Watermark) (rows []Row, hasMarkRow bool, err error) {
	if mark.Pos == 0 {
		rows, err = a.ledger.ReadRows(ctx, game, 0, rowsPerRead)
		return rows, true, err
	}
	rows, err = a.ledger.ReadRows(ctx, game, mark.Pos-1, 1+rowsPerRead)
	if err != nil || len(rows) == 0 || rows[0].Pos != mark.Pos || rows[0].ID != mark.RowID {
		return nil, false, err
	}
	return rows[1:], true, nil
}

// commitRows commits rows to a board set. If a row must wait for an eviction, the error
// is an evictionPendingError, and the rows before it are applied.
func (a *Applier) commitRows(ctx context.Context, cfg Config, state BoardSetState, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	requests := cfg.entryRequests(state.Progress, rows)
	results, err := a.store.ReadEntries(ctx, state.BoardSet, requests)
	if err != nil {
		return err
	}
	txs, evictionErr := plan(cfg, a.now(), state, rows, newWorkingEntries(requests, results))
	if len(txs) == 0 {
		return evictionErr
	}
	if err := a.store.Commit(ctx, state.BoardSet, txs); err != nil {
		return err
	}
	mark := txs[len(txs)-1].Watermark
	a.metrics.appliedRows.WithLabelValues(cfg.Game).Add(float64(mark.Pos - state.Watermark.Pos))
	if mark.Day != state.Watermark.Day {
		signal(a.dayEndSignals[cfg.Game])
	}
	return evictionErr
}
