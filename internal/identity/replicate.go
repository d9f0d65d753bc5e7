package identity

import (
	"context"
	"sync"
	"time"

	"laststand/internal/loop"
)

// run keeps the views up to date until ctx ends, and then saves snapshots.
func (r *nameReplicator) run(ctx context.Context) {
	read := loop.LogFailures(r.Logger, "nickname read", r.read)
	read(ctx)
	var maintenance sync.WaitGroup
	maintenance.Go(func() { r.maintainViews(ctx) })
	loop.Every(ctx, readInterval, read)
	maintenance.Wait()
	r.saveSnapshots()
}

// read adds the names that were claimed since the last read to the views. Before the first
// read it loads the snapshots.
func (r *nameReplicator) read(ctx context.Context) error {
	err := r.loadSnapshots(ctx)
	if err == nil {
		err = r.readNew(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.metrics.failures.Inc()
		}
		return err
	}
	r.lastReadAfter.Store(int64(time.Since(r.startedAt)))
	r.requestLargerViews()
	loop.Wake(r.readDone)
	return nil
}

// readNew adds the names that were claimed since the last read to the views.
func (r *nameReplicator) readNew(ctx context.Context) error {
	if r.fullReadAt.IsZero() {
		return r.readFull(ctx)
	}
	if time.Since(r.fullReadAt) >= fullReadInterval {
		ctx, cancel := context.WithTimeout(ctx, fullReadTimeout)
		defer cancel()
		return r.readFull(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return r.readSince(ctx, r.readClock, readOverlap)
}

// readFull reads all names that were claimed since a minute before the last full read, so
// also names that were committed late. The first full read completes the loaded snapshots.
func (r *nameReplicator) readFull(ctx context.Context) error {
	startedAt := time.Now()
	if err := r.readSince(ctx, r.fullReadClock.Load(), fullReadOverlap); err != nil {
		return err
	}
	r.fullReadAt = startedAt
	r.fullReadClock.Store(r.readClock)
	for _, view := range r.views {
		view.activateLoaded()
	}
	return nil
}

// readSince reads all names from a time on, and those up to overlap before it. It also
// checks whether the ledger's clock was set back by more than a minute. Names may then have
// times that no read covers, so readSince requests a rebuild of all views.
func (r *nameReplicator) readSince(ctx context.Context, since int64, overlap time.Duration) error {
	ledgerNow, err := r.NameSource.Now(ctx)
	if err != nil {
		return err
	}
	from, to := min(since, ledgerNow)-overlap.Milliseconds(), ledgerNow+overlap.Milliseconds()
	err = r.NameSource.NamesBetween(ctx, from, to, func(game, skeleton string, _ int64) {
		if view := r.views[game]; view != nil {
			view.addSkeleton(skeleton)
		}
	})
	if err != nil {
		return err
	}
	if ledgerNow < r.readClock-fullReadOverlap.Milliseconds() {
		for _, view := range r.views {
			view.requestRebuild(causeClockSetBack)
		}
	}
	r.readClock = ledgerNow
	return nil
}
