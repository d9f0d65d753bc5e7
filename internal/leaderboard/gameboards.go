package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"laststand/internal/timer"
)

const (
	dayCheckInterval    = time.Second      // time between two checks for a day that another node has started
	minMaintenancePause = time.Millisecond // minimum pause after an eviction or deletion
	maxFailingTime      = time.Minute      // how long builds may fail before the node counts as ready without the boards
)

// gameBoards maintains the boards of one game.
type gameBoards struct {
	*resources
	rows     *rowApplier
	builder  *builder
	verifier *verifier
	isReady  atomic.Bool

	applySlot                     *semaphore.Weighted // one call of apply works at a time
	lastBegunApply, lastDoneApply atomic.Int64        // numbers of the calls that began last and that succeeded last
}

func newGameBoards(shared *resources) *gameBoards {
	rows := &rowApplier{resources: shared, days: &dayMaintainer{shared}, dayEnded: make(chan struct{}, 1)}
	builder := &builder{resources: shared, rows: rows, wakeups: make(chan struct{}, 1)}
	return &gameBoards{
		resources: shared, rows: rows, builder: builder, verifier: &verifier{resources: shared, builder: builder},
		applySlot: semaphore.NewWeighted(1),
	}
}

// run does the work of Applier.Run for the game. It returns when ctx has ended and all its
// goroutines have returned.
func (g *gameBoards) run(ctx context.Context) {
	apply := func(ctx context.Context) { g.logError(ctx, "apply", g.apply(ctx)) }
	maintain := func(ctx context.Context) { g.logError(ctx, "maintain", g.maintainDays(ctx)) }
	var background sync.WaitGroup
	background.Go(func() { g.builder.run(ctx) })
	background.Go(func() { g.verifier.run(ctx) })
	background.Go(func() { timer.Every(ctx, applyInterval, apply) })
	apply(ctx)
	maintain(ctx)
	timer.EveryOrWoken(ctx, dayCheckInterval, g.rows.dayEnded, maintain)
	background.Wait()
}

// apply applies rows to the served boards, and builds boards if none are served. It
// retries until the boards hold all rows. Calls that wait for another one share the success
// of the next one, so many concurrent calls cause little work.
func (g *gameBoards) apply(ctx context.Context) error {
	begunBefore := g.lastBegunApply.Load()
	if err := g.applySlot.Acquire(ctx, 1); err != nil {
		return err
	}
	defer g.applySlot.Release(1)
	if g.lastDoneApply.Load() > begunBefore { // a call that began later has applied all rows
		return nil
	}
	call, began := g.lastBegunApply.Add(1), time.Now()
	for range maxFailedTries {
		err := g.withLease(ctx, g.applyLease, func() error { return g.rows.applyAll(ctx) })
		if err == nil {
			g.metrics.applyDuration.Observe(time.Since(began).Seconds())
			g.lastDoneApply.Store(call)
			return nil
		}
		if err = g.requestRepair(ctx, err); errors.Is(err, errNoBoards) {
			err = g.builder.build(ctx)
		}
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
	}
	return ErrContended
}

// maintainDays evicts and deletes days of the served boards until none is left to evict or
// delete. It releases the apply lease after each transaction, so that rows can be applied
// in between. It then pauses for as long as the transaction took, to leave time for other
// users of Redis. It does nothing while another node does the same work.
func (g *gameBoards) maintainDays(ctx context.Context) error {
	defer func() { _ = g.releaseLease(ctx, g.maintainLease) }() // if the release fails, the lease expires
	for ctx.Err() == nil {
		if err := g.renewLease(ctx, g.maintainLease); err != nil {
			return ignore(err, ErrStale)
		}
		var duration time.Duration
		isDone := true
		err := g.withLease(ctx, g.applyLease, func() (err error) {
			began := time.Now()
			isDone, err = g.maintainDaysOnce(ctx)
			duration = time.Since(began)
			return err
		})
		if err = ignore(err, ErrStale); err != nil || !isDone {
			return ignore(err, errNoBoards) // requestRepair has logged the error and requested a build
		}
		timer.Sleep(ctx, max(duration, minMaintenancePause))
	}
	return nil
}

// ignore returns nil for an error that wraps ignored, and any other error unchanged.
func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// maintainDaysOnce does one transaction of maintenance. See dayMaintainer.maintainOnce.
func (g *gameBoards) maintainDaysOnce(ctx context.Context) (isDone bool, err error) {
	isDone, err = g.rows.days.maintainOnce(ctx)
	return isDone, g.requestRepair(ctx, err)
}

// requestRepair requests a build if err is a corruptError, and then returns errNoBoards.
// Readers see the corrupt boards until the build is published. If the board set has
// changed since it was read, requestRepair returns ErrStale, because the board set may not
// be corrupt. It returns any other err unchanged.
func (g *gameBoards) requestRepair(ctx context.Context, err error) error {
	corrupt, isCorrupt := errors.AsType[corruptError](err)
	if !isCorrupt {
		return err
	}
	current, err := g.store.ServedState(ctx, corrupt.state.Game, corrupt.state.ConfigHash)
	if err != nil {
		return err
	}
	if current.ID != corrupt.state.ID || current.Version != corrupt.state.Version {
		return ErrStale
	}
	if corrupt.state.ConfigHash == g.newestConfig.Hash() { // else the builder replaces the fallback anyway
		g.log.WarnContext(ctx, "leaderboard is corrupt; rebuild requested", "error", corrupt.cause)
		if err := g.builder.request(ctx, reasonCorrupt); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errNoBoards, corrupt.cause)
}

// checkReady does the work of Applier.Ready for the game.
func (g *gameBoards) checkReady(ctx context.Context) (isReady bool, err error) {
	if g.isReady.Load() {
		return true, nil
	}
	_, served, err := g.servedBoards(ctx)
	isReady = served.Version != "" && served.Watermark.Epoch == g.ledger.Epoch()
	if !isReady && g.builder.failingTime() >= maxFailingTime {
		g.log.ErrorContext(ctx, "leaderboard build keeps failing; node starts without these boards")
		isReady, err = true, nil
	}
	if isReady {
		g.isReady.Store(true)
	}
	return isReady, err
}
