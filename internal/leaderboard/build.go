package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"laststand/internal/timer"
)

const (
	applyInterval  = 5 * time.Second // between two checks for rows, or builds, that no call has done
	abandonedAfter = 48 * time.Hour  // time since the last transaction after which a board set counts as abandoned
)

// Reasons for a build: label values of a metric.
const (
	reasonNeverBuilt  = "first"       // there are no boards of this configuration
	reasonLost        = "lost"        // Redis lost the boards, or a transaction was interrupted
	reasonOtherLedger = "ledger"      // the boards belong to another ledger
	reasonRolledBack  = "rolled_back" // the boards hold rows that the ledger lacks
	reasonRequested   = "asked"       // Rebuild was called
	reasonDifferences = "drift"       // a verification found differences from the ledger
	reasonCorrupt     = "roll"        // entries contradict each other, or a rolling window is too far behind
	reasonTakenOver   = "taken_over"  // a node left the board set half built
)

// builder builds board sets of the newest configuration of one game. One node at a time
// builds. If it dies, another node builds a new board set.
type builder struct {
	*resources
	rows         *rowApplier
	wakeups      chan struct{} // at most one signal: a build may be pending
	failingSince atomic.Int64  // Unix time in ns, start of the current series of failed builds; 0: none
}

// run builds board sets when that is needed and removes replaced ones, until ctx ends.
func (b *builder) run(ctx context.Context) {
	work := func(ctx context.Context) {
		b.logError(ctx, "build", b.build(ctx))
		sweepErr := b.store.Sweep(ctx, b.newestConfig.Game, b.newestConfig.Hash(), b.now()-abandonedAfter.Milliseconds())
		b.logError(ctx, "sweep", sweepErr)
	}
	work(ctx)
	timer.EveryOrWoken(ctx, applyInterval, b.wakeups, work)
}

// request requests a build. It does nothing if a build is pending.
func (b *builder) request(ctx context.Context, reason string) error {
	err := b.store.RequestBuild(ctx, b.newestConfig.Game, b.newestConfig.Hash(), reason)
	timer.Wake(b.wakeups)
	return err
}

// build returns once usable boards are served and no build is pending. It records success
// or failure for failingTime and the metrics.
func (b *builder) build(ctx context.Context) error {
	err := ErrStale
	for errors.Is(err, ErrStale) || errors.Is(err, errCorrupt) || errors.Is(err, errNoBoards) { // another board set may succeed
		if err = b.withLease(ctx, b.buildLease, func() error { return b.buildOnce(ctx) }); err != nil && ctx.Err() != nil {
			return err // the caller cancelled the call; a build did not fail
		}
	}
	if err == nil {
		b.failingSince.Store(0)
		b.metrics.buildFailing.Set(0)
	} else {
		b.failingSince.CompareAndSwap(0, time.Now().UnixNano())
		b.metrics.buildFailing.Set(1)
	}
	return err
}

// failingTime returns how long all builds have failed.
func (b *builder) failingTime() time.Duration {
	since := b.failingSince.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// buildReason returns why a board set must be built, or "" if that is not needed. It reads
// the ledger to check that the watermark's row still exists.
func (b *builder) buildReason(ctx context.Context) (reason string, err error) {
	state, err := b.newestState(ctx)
	requests := []string{reasonRequested, reasonDifferences, reasonCorrupt}
	switch {
	case err != nil:
		return "", err
	case slices.Contains(requests, state.PendingBuild):
		return state.PendingBuild, nil
	case state.PendingBuild != "":
		return reasonTakenOver, nil
	case state.ID == "":
		return reasonNeverBuilt, nil
	case state.Version == "":
		return reasonLost, nil
	case state.Watermark.Epoch != b.ledger.Epoch():
		return reasonOtherLedger, nil
	}
	_, hasMarkRow, err := b.rowsAfter(ctx, state.Watermark, 0)
	if err == nil && !hasMarkRow {
		reason = reasonRolledBack
	}
	return reason, err
}

// buildOnce builds and publishes a board set, unless another node has done so. The caller
// holds the build lease. After ErrStale, errCorrupt or errNoBoards the caller must try
// again.
func (b *builder) buildOnce(ctx context.Context) error {
	reason, err := b.buildReason(ctx)
	if err != nil || reason == "" {
		return err
	}
	state := BoardSetState{
		BoardSet: BoardSet{Game: b.newestConfig.Game, ConfigHash: b.newestConfig.Hash(), ID: rand.Text()[:8]},
		Version:  rand.Text(), Loading: true,
		Progress: Progress{Watermark: Watermark{Epoch: b.ledger.Epoch()}},
	}
	b.log.InfoContext(ctx, "leaderboard build started", "config", state.ConfigHash, "reason", reason, "board_set", state.ID)
	b.metrics.builds.WithLabelValues(reason).Inc()
	if err := b.store.Begin(ctx, b.newestConfig, state, b.now()); err != nil {
		return err
	}
	if state, err = b.loadSums(ctx, state); err != nil {
		return err
	}
	for isPublished := false; !isPublished && err == nil; {
		if err = b.renewLease(ctx, b.buildLease); err == nil {
			state, isPublished, err = b.applyAndPublish(ctx, state)
		}
	}
	return err
}

// applyAndPublish applies a page of the rows committed since the load. If these were the last
// ones, it makes the built board set the served one. It holds the apply lease, so the new
// board set lacks no row of the one that it replaces. No day is evicted from a board set being
// built, so no row has to wait.
func (b *builder) applyAndPublish(ctx context.Context, state BoardSetState) (stateAfter BoardSetState, isPublished bool, err error) {
	err = b.withLease(ctx, b.applyLease, func() (err error) {
		var more bool
		if stateAfter, more, err = b.rows.applyPage(ctx, b.newestConfig, state); err != nil || more {
			return err
		}
		isPublished = true
		return b.store.Publish(ctx, state.BoardSet)
	})
	return stateAfter, isPublished, err
}
