package identity

import (
	"cmp"
	"context"
	"time"

	"laststand/internal/nickname"
)

const (
	saveInterval = 10 * time.Minute
	// countInterval is the time between two counts of names. A count reads an index of
	// all names.
	countInterval = time.Hour
	// buildRetryDelay is the pause after the server failed to build a view.
	buildRetryDelay = 5 * time.Second

	// The server rebuilds a view if it has at least minStaleNames stale names, and at
	// least one name in staleDivisor is stale.
	minStaleNames = 1000
	staleDivisor  = 4
)

// maintainViews rebuilds views, one at a time, while the former ones stay in use. It also
// saves snapshots and counts stale names. It returns when ctx ends.
func (r *nameReplicator) maintainViews(ctx context.Context) {
	saveTicker, countTicker := time.NewTicker(saveInterval), time.NewTicker(countInterval)
	defer saveTicker.Stop()
	defer countTicker.Stop()
	retryAt := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.readDone:
			r.buildRequestedViews(ctx, retryAt)
		case <-saveTicker.C:
			r.saveSnapshots()
		case <-countTicker.C:
			r.countStaleNames(ctx)
		}
	}
}

// requestLargerViews requests a rebuild of each view that is full.
func (r *nameReplicator) requestLargerViews() {
	for _, view := range r.views {
		if view.isFull() {
			view.requestRebuild(causeFull)
		}
	}
}

// buildRequestedViews rebuilds each view with a request. retryAt has by game the time
// before which a failed rebuild must not be repeated.
func (r *nameReplicator) buildRequestedViews(ctx context.Context, retryAt map[string]time.Time) {
	for _, game := range r.games() {
		view := r.views[game]
		cause := view.requestedRebuild()
		if cause == "" || time.Now().Before(retryAt[game]) {
			continue
		}
		if err := r.buildView(ctx, view, cause); err != nil {
			if ctx.Err() != nil {
				return
			}
			r.metrics.failures.Inc()
			retryAt[game] = time.Now().Add(buildRetryDelay)
			r.Logger.WarnContext(ctx, "nickname view build failed; the server retries it", "game", game, "reason", cause, "retry_in", buildRetryDelay, "error", err)
		}
	}
}

// buildView reads all names of a game into a new filter of the right size. The former filter
// stays active until then, and new names are added to both.
func (r *nameReplicator) buildView(ctx context.Context, view *nameView, cause rebuildCause) error {
	startedAt := time.Now()
	names, err := r.NameSource.CountNames(ctx, view.game)
	if err != nil {
		return err
	}
	filter := nickname.NewFilter(filterCapacity(names, cmp.Or(r.initialFilterCapacity, defaultFilterCapacity)), maxFalsePositiveRate)
	view.startBuilding(filter)
	if err := r.NameSource.EachSkeleton(ctx, view.game, func(skeleton string) { filter.Add(skeleton) }); err != nil {
		view.discardBuilding()
		return err
	}
	view.activateBuilt()
	view.staleNames.Store(0)
	delete(r.savedSizes, view.game)
	r.metrics.rebuilds.WithLabelValues(view.game, string(cause)).Inc()
	r.Logger.InfoContext(ctx, "nickname view built", "game", view.game, "reason", cause,
		"names", filter.Len(), "capacity", filter.Cap(), "bytes", filter.Bytes(), "took", time.Since(startedAt).Round(time.Millisecond))
	return nil
}

// countStaleNames counts the stale names of each view, which no player has any more. It
// requests a rebuild if there are too many.
func (r *nameReplicator) countStaleNames(ctx context.Context) {
	for _, game := range r.games() {
		view := r.views[game]
		filter := view.active.Load()
		if filter == nil {
			continue
		}
		names, err := r.NameSource.CountNames(ctx, game)
		if err != nil {
			r.metrics.failures.Inc() // not logged: the read loop logs errors of the ledger
			return
		}
		stale := max(0, int64(filter.Len())-names)
		view.staleNames.Store(stale)
		if stale >= minStaleNames && stale*staleDivisor >= int64(filter.Len()) {
			view.requestRebuild(causeStale)
		}
	}
}
