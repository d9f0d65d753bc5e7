package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/nickname"
	"laststand/internal/timer"
)

// NameSource reads the claimed nicknames from the ledger. Times are epoch ms by the
// ledger's clock; the nodes' clocks do not matter.
type NameSource interface {
	// NamesBetween calls f for every nickname of any game that was claimed between two
	// times, both included, in the order of these times. It reads only committed
	// claims. Claims may commit in another order than their times.
	NamesBetween(ctx context.Context, from, to int64, f func(game, skeleton string, at int64)) error
	// EachSkeleton calls f for every nickname of a game that was claimed before the
	// call, except those renamed during the call.
	EachSkeleton(ctx context.Context, game string, f func(skeleton string)) error
	// CountNames returns how many nicknames a game has.
	CountNames(ctx context.Context, game string) (int64, error)
	// Now returns the ledger's clock.
	Now(ctx context.Context) (int64, error)
}

const (
	// readInterval is the time between two reads of new claims. Every node must know a
	// claimed name within a second.
	readInterval = 400 * time.Millisecond
	// Names may commit in another order than their times. So each read starts
	// readOverlap before the start of the last one. A name that took longer to commit,
	// up to a minute, is found by a full read. There is one every fullReadInterval.
	readOverlap      = time.Second
	fullReadInterval = 20 * time.Second
	fullReadOverlap  = time.Minute + fullReadInterval
	// readTimeout is the time limit of one read. The first read after the start has no
	// limit, because it may have more to read.
	readTimeout = 30 * time.Second

	buildInterval = 5 * time.Second // between two checks whether a view must be built
	saveInterval  = 10 * time.Minute
)

// nameReplicator keeps the views of all games up to date with the ledger.
type nameReplicator struct {
	Config
	views   map[string]*nameView
	metrics *nameMetrics

	reads      int          // successful reads; only the read loop uses it
	readClock  atomic.Int64 // when the last read started, by the ledger's clock, epoch ms; the views have all names up to then
	lastReadAt atomic.Int64 // when the last read ended, in epoch ns
}

// timeSinceRead returns the time since the last successful read of the ledger.
func (r *nameReplicator) timeSinceRead() time.Duration {
	return time.Since(time.Unix(0, r.lastReadAt.Load()))
}

func (r *nameReplicator) games() []string { return slices.Sorted(maps.Keys(r.views)) }

// run keeps the views up to date until ctx ends, and then saves snapshots.
func (r *nameReplicator) run(ctx context.Context) {
	read, build := r.logFailures("nickname read", r.read), r.logFailures("nickname view build", r.buildViews)
	for read(ctx); r.reads == 0 && timer.Sleep(ctx, readInterval); {
		read(ctx)
	}
	var maintenance sync.WaitGroup
	maintenance.Go(func() {
		build(ctx)
		timer.Every(ctx, buildInterval, build)
	})
	maintenance.Go(func() { timer.Every(ctx, saveInterval, r.saveSnapshots) })
	timer.Every(ctx, readInterval, read)
	maintenance.Wait()
	r.saveSnapshots(ctx)
}

// logFailures returns a function that calls work, and logs and counts its failures.
func (r *nameReplicator) logFailures(operation string, work func(context.Context) error) func(context.Context) {
	return timer.LogFailures(r.Logger, operation, func(ctx context.Context) error {
		err := work(ctx)
		if err != nil && ctx.Err() == nil {
			r.metrics.failures.Inc()
		}
		return err
	})
}

// read adds the names that were claimed since the last read to the views. The first read
// completes the loaded snapshots. If the ledger's clock was set back by more than
// fullReadOverlap, names may have times that no read covers, so all views are built again.
func (r *nameReplicator) read(ctx context.Context) error {
	overlap := readOverlap
	if r.reads%int(fullReadInterval/readInterval) == 0 {
		overlap = fullReadOverlap
	}
	if r.reads > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readTimeout)
		defer cancel()
	}
	ledgerNow, err := r.NameSource.Now(ctx)
	if err != nil {
		return err
	}
	if r.readClock.Load() == 0 {
		r.readClock.Store(r.loadSnapshots(ledgerNow))
	}
	since := r.readClock.Load()
	from, to := min(since, ledgerNow)-overlap.Milliseconds(), ledgerNow+overlap.Milliseconds()
	err = r.NameSource.NamesBetween(ctx, from, to, func(game, skeleton string, _ int64) {
		if view := r.views[game]; view != nil {
			view.add(skeleton)
		}
	})
	if err != nil {
		return err
	}
	for _, view := range r.views {
		switch {
		case r.reads == 0:
			view.activate()
		case ledgerNow < since-fullReadOverlap.Milliseconds():
			view.markOutdated(causeClockSetBack)
		}
	}
	r.reads++
	r.readClock.Store(ledgerNow)
	r.lastReadAt.Store(time.Now().UnixNano())
	return nil
}

// buildViews builds each view that needs it, one at a time, while the former ones stay in
// use.
func (r *nameReplicator) buildViews(ctx context.Context) error {
	var errs []error
	for _, game := range r.games() {
		if cause := r.views[game].buildCause(); cause != "" {
			errs = append(errs, r.buildView(ctx, r.views[game], cause))
		}
	}
	return errors.Join(errs...)
}

// buildView reads all names of a game into a new filter of the right size. The former filter
// stays active until then, and new names are added to both.
func (r *nameReplicator) buildView(ctx context.Context, view *nameView, cause string) error {
	startedAt := time.Now()
	names, err := r.NameSource.CountNames(ctx, view.game)
	if err != nil {
		return err
	}
	filter := nickname.NewFilter(filterCapacity(names, cmp.Or(r.initialFilterCapacity, defaultFilterCapacity)), maxFalsePositiveRate)
	view.setBuilding(filter)
	if err := r.NameSource.EachSkeleton(ctx, view.game, func(skeleton string) { filter.Add(skeleton) }); err != nil {
		view.setBuilding(nil)
		return err
	}
	view.activate()
	r.metrics.builds.WithLabelValues(view.game, cause).Inc()
	r.Logger.InfoContext(ctx, "nickname view built", "game", view.game, "reason", cause,
		"names", filter.Len(), "capacity", filter.Cap(), "bytes", filter.Bytes(), "took", time.Since(startedAt).Round(time.Millisecond))
	return nil
}

// Snapshots stores the views for the next start of the node. A snapshot may be old, lost
// or of another ledger.
type Snapshots interface {
	// Load returns the snapshot of a game, fs.ErrNotExist if there is none.
	Load(game string) ([]byte, error)
	// Save replaces the snapshot of a game.
	Save(game string, snapshot []byte) error
}

// The outcomes of loading and saving snapshots.
const (
	snapshotSaved      = "saved"
	snapshotSaveFailed = "failed"
	snapshotLoaded     = "loaded"
	snapshotMissing    = "none"
	snapshotIgnored    = "ignored" // damaged, or not of this ledger, game, format or rules
)

// loadSnapshots starts each view with a usable snapshot; the next read activates them. It
// returns the time up to which they have all names, by the ledger's clock.
func (r *nameReplicator) loadSnapshots(ledgerNow int64) (watermark int64) {
	watermark = ledgerNow
	if r.Snapshots == nil {
		return watermark
	}
	for _, game := range r.games() {
		outcome := snapshotLoaded
		filter, info, err := r.loadSnapshot(game, ledgerNow)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			outcome = snapshotMissing
		case err != nil:
			outcome = snapshotIgnored
			r.Logger.Warn("nickname snapshot ignored; the view is built from the ledger", "game", game, "error", err)
		default:
			r.views[game].setBuilding(filter)
			r.views[game].savedNames = filter.Len()
			watermark = min(watermark, info.Watermark)
		}
		r.metrics.snapshots.WithLabelValues(outcome).Inc()
	}
	return watermark
}

// loadSnapshot reads the snapshot of a game. It must belong to this ledger, must not be
// ahead of it, and must have this program's format and rules.
func (r *nameReplicator) loadSnapshot(game string, ledgerNow int64) (*nickname.Filter, nickname.SnapshotInfo, error) {
	snapshot, err := r.Snapshots.Load(game)
	if err != nil {
		return nil, nickname.SnapshotInfo{}, err
	}
	filter, info, err := nickname.ParseSnapshot(snapshot)
	if err != nil {
		return nil, info, err
	}
	if info != r.snapshotInfo(game, info.Watermark) || filter.FalsePositiveRate() != maxFalsePositiveRate || info.Watermark > ledgerNow+fullReadOverlap.Milliseconds() {
		return nil, info, fmt.Errorf("it is of another game, ledger, rate or version of the rules, or later than the ledger: %+v", info)
	}
	return filter, info, nil
}

func (r *nameReplicator) snapshotInfo(game string, watermark int64) nickname.SnapshotInfo {
	return nickname.SnapshotInfo{Game: game, Epoch: r.Epoch, Rules: nickname.RulesVersion, Watermark: watermark}
}

// saveSnapshots saves a snapshot of each view that has new names.
func (r *nameReplicator) saveSnapshots(context.Context) {
	if r.Snapshots == nil {
		return
	}
	for _, game := range r.games() {
		view, watermark := r.views[game], r.readClock.Load() // before active, which may be replaced
		filter := view.active.Load()
		if filter == nil || filter.Len() == view.savedNames {
			continue
		}
		names := filter.Len()
		snapshot, err := filter.Snapshot(r.snapshotInfo(game, watermark))
		if err == nil {
			err = r.Snapshots.Save(game, snapshot)
		}
		if err != nil {
			r.metrics.snapshots.WithLabelValues(snapshotSaveFailed).Inc()
			r.Logger.Warn("nickname snapshot save failed; the next start reads more from the ledger", "game", game, "error", err)
			continue
		}
		view.savedNames = names
		r.metrics.snapshots.WithLabelValues(snapshotSaved).Inc()
	}
}
