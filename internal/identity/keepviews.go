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
	// countEvery is how often names are counted, which reads an index of all.
	countEvery = time.Hour
	// buildAgainAfter is how long a game whose view could not be built waits.
	buildAgainAfter = 5 * time.Second

	// A view is built anew when so many of its names are nobody's any more, and
	// the share of them is one in staleShare.
	staleLeast = 1000
	staleShare = 4
)

// keep builds views anew beside the ones that serve, one at a time, and keeps
// snapshots, until ctx ends.
func (f *follower) keep(ctx context.Context) {
	saving, counting := time.NewTicker(saveEvery), time.NewTicker(countEvery)
	defer saving.Stop()
	defer counting.Stop()
	notBefore := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.readings:
			f.buildOrdered(ctx, notBefore)
		case <-saving.C:
			f.saveAll()
		case <-counting.C:
			f.countStale(ctx)
		}
	}
}

func (f *follower) games() []string { return slices.Sorted(maps.Keys(f.known)) }

// orderFull orders larger views of the games that have outgrown theirs.
func (f *follower) orderFull() {
	for _, k := range f.known {
		if k.full() {
			k.order(bySize)
		}
	}
}

func (f *follower) buildOrdered(ctx context.Context, notBefore map[string]time.Time) {
	for _, game := range f.games() {
		k := f.known[game]
		why := k.ordered()
		if why == "" || time.Now().Before(notBefore[game]) {
			continue
		}
		if err := f.build(ctx, k, why); err != nil {
			if ctx.Err() != nil {
				return
			}
			f.metrics.failures.Inc()
			notBefore[game] = time.Now().Add(buildAgainAfter)
			f.Logger.WarnContext(ctx, "the view of nicknames could not be built; it is tried again", "game", game, "reason", why, "again_in", buildAgainAfter, "error", err)
		}
	}
}

// build reads all names of a game into a new filter, of the size that they need,
// while the former one serves: what is claimed meanwhile goes to both.
func (f *follower) build(ctx context.Context, k *knownNames, why reason) error {
	began := time.Now()
	names, err := f.Named.CountNames(ctx, k.game)
	if err != nil {
		return err
	}
	filter := nickname.NewFilter(sizeFor(names, cmp.Or(f.firstNames, firstNames)), filterRate)
	k.prepare(filter)
	if err := f.Named.EachSkeleton(ctx, k.game, func(skeleton string) { filter.Add(skeleton) }); err != nil {
		k.drop()
		return err
	}
	k.serve()
	k.done()
	k.stale.Store(0)
	delete(f.kept, k.game)
	f.metrics.rebuilds.WithLabelValues(k.game, string(why)).Inc()
	f.Logger.InfoContext(ctx, "the view of nicknames is built", "game", k.game, "reason", why,
		"names", filter.Len(), "capacity", filter.Cap(), "bytes", filter.Bytes(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// countStale counts the names of the views that nobody has any more, and orders
// those anew that have too many.
func (f *follower) countStale(ctx context.Context) {
	for _, game := range f.games() {
		k := f.known[game]
		filter := k.serving.Load()
		if filter == nil {
			continue
		}
		names, err := f.Named.CountNames(ctx, game)
		if err != nil {
			f.metrics.failures.Inc() // the reading loop logs what is wrong with the ledger
			return
		}
		stale := max(0, int64(filter.Len())-names)
		k.stale.Store(stale)
		if stale >= staleLeast && stale*staleShare >= int64(filter.Len()) {
			k.order(byStale)
		}
	}
}
