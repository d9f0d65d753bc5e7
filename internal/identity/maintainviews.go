package identity

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"laststand/internal/nickname"
)

const (
	saveEvery = 10 * time.Minute
	// countInterval is the time between two counts of names. A count reads an index of
	// all names.
	countEvery = time.Hour
	// buildRetryDelay is the pause after the server failed to build a view.
	buildAgainAfter = 5 * time.Second

	// The server rebuilds a view if it has at least minStaleNames stale names, and at
	// least one name in staleDivisor is stale.
	minStale   = 1000
	staleShare = 4
)

// maintainViews rebuilds views, one at a time, while the former ones stay in use. It also
// saves snapshots and counts stale names. It returns when ctx ends.
func (f *nameReplicator) maintainViews(ctx context.Context) {
	saving, counting := time.NewTicker(saveEvery), time.NewTicker(countEvery)
	defer saving.Stop()
	defer counting.Stop()
	notBefore := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.readings:
			f.buildRequested(ctx, notBefore)
		case <-saving.C:
			f.saveAll()
		case <-counting.C:
			f.countStale(ctx)
		}
	}
}

func (f *nameReplicator) games() []string { return slices.Sorted(maps.Keys(f.views)) }

// requestLargerViews requests a rebuild of each view that is full.
func (f *nameReplicator) requestLargerViews() {
	for _, k := range f.views {
		if k.isFull() {
			k.requestRebuild(reasonFull)
		}
	}
}

// buildRequestedViews rebuilds each view with a request. retryAt has by game the time
// before which a failed rebuild must not be repeated.
func (f *nameReplicator) buildRequested(ctx context.Context, notBefore map[string]time.Time) {
	for _, game := range f.games() {
		k := f.views[game]
		cause := k.requestedRebuild()
		if cause == "" || time.Now().Before(notBefore[game]) {
			continue
		}
		if err := f.build(ctx, k, cause); err != nil {
			if ctx.Err() != nil {
				return
			}
			f.metrics.failures.Inc()
			notBefore[game] = time.Now().Add(buildAgainAfter)
			f.Logger.WarnContext(ctx, "nickname view build failed; the server retries it", "game", game, "reason", cause, "retry_in", buildAgainAfter, "error", err)
		}
	}
}

// build reads all names of a game into a new filter of the right size. The former filter
// stays active until then, and new names are added to both.
func (f *nameReplicator) build(ctx context.Context, k *nameView, cause reason) error {
	began := time.Now()
	names, err := f.NameSource.CountNames(ctx, k.game)
	if err != nil {
		return err
	}
	filter := nickname.NewFilter(sizeFor(names, cmp.Or(f.firstNames, firstNames)), filterRate)
	k.prepare(filter)
	if err := f.NameSource.EachSkeleton(ctx, k.game, func(skeleton string) { filter.Add(skeleton) }); err != nil {
		k.drop()
		return err
	}
	k.activate()
	k.clearRequest()
	k.stale.Store(0)
	delete(f.savedSizes, k.game)
	f.metrics.rebuilds.WithLabelValues(k.game, string(cause)).Inc()
	f.Logger.InfoContext(ctx, "nickname view built", "game", k.game, "reason", cause,
		"names", filter.Len(), "capacity", filter.Cap(), "bytes", filter.Bytes(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// countStale counts the stale names of each view, which no player has any more. It
// requests a rebuild if there are too many.
func (f *nameReplicator) countStale(ctx context.Context) {
	for _, game := range f.games() {
		k := f.views[game]
		filter := k.active.Load()
		if filter == nil {
			continue
		}
		names, err := f.NameSource.CountNames(ctx, game)
		if err != nil {
			f.metrics.failures.Inc() // not logged: the read loop logs errors of the ledger
			return
		}
		stale := max(0, int64(filter.Len())-names)
		k.stale.Store(stale)
		if stale >= minStale && stale*staleShare >= int64(filter.Len()) {
			k.requestRebuild(reasonStale)
		}
	}
}
