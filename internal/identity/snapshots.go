package identity

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"laststand/internal/nickname"
)

// loadSnapshots loads a filter from each usable snapshot, and requests a rebuild of the
// views without one. catchUp activates the loaded filters.
func (f *nameReplicator) loadSnapshots(ctx context.Context) error {
	clock, err := f.NameSource.Clock(ctx)
	if err != nil {
		return err
	}
	whole := clock
	for _, game := range f.games() {
		k := f.views[game]
		filter, watermark := f.load(game, clock)
		if filter == nil {
			k.requestRebuild(reasonStart)
			continue
		}
		k.prepare(filter)
		whole = min(whole, watermark)
	}
	f.watermark.Store(whole)
	return nil
}

// catchUp reads the names that were claimed since the oldest snapshot, and activates the
// loaded filters.
func (f *nameReplicator) catchUp(ctx context.Context) error {
	if err := f.readFull(ctx); err != nil {
		return err
	}
	for _, k := range f.views {
		if k.requestedRebuild() == "" {
			k.activate()
		}
	}
	return nil
}

// load returns the filter in the snapshot of a game and its watermark. The filter is nil if
// there is no usable snapshot. The watermark is the time up to which the filter has all
// names, by the ledger's clock, in epoch ms.
func (f *nameReplicator) load(game string, clock int64) (*nickname.Filter, int64) {
	if f.Snapshots == nil {
		return nil, 0
	}
	filter, stamp, err := f.open(game)
	outcome := f.classify(game, clock, filter, stamp, err)
	f.metrics.snapshots.WithLabelValues(outcome).Inc()
	switch outcome {
	case loaded:
		f.savedSizes[game] = filter.Len()
		return filter, stamp.Watermark
	case missing:
	default:
		f.Logger.Warn("nickname snapshot ignored; the view is built from the ledger", "game", game, "outcome", outcome, "error", err)
	}
	return nil, 0
}

func (f *nameReplicator) open(game string) (*nickname.Filter, nickname.SnapshotInfo, error) {
	r, err := f.Snapshots.Open(game)
	if err != nil {
		return nil, nickname.SnapshotInfo{}, err
	}
	filter, stamp, err := nickname.ReadFilter(r)
	return filter, stamp, errors.Join(err, r.Close())
}

// classify returns the outcome of reading a snapshot. It is snapshotLoaded if the snapshot
// belongs to this ledger, is not ahead of it, and has this program's format and rules.
func (f *nameReplicator) classify(game string, clock int64, filter *nickname.Filter, s nickname.SnapshotInfo, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case errors.Is(err, nickname.ErrSnapshotVersion):
		return newer
	case err != nil:
		return broken
	case s.Game != game || s.Epoch != f.Epoch || s.Rules != nickname.RulesVersion || filter.Rate() != filterRate:
		return foreign
	case s.Watermark > clock+fullReadOverlap.Milliseconds():
		return ahead
	}
	return loaded
}

// saveAll saves a snapshot of each view that has new names.
func (f *nameReplicator) saveAll() {
	if f.Snapshots == nil {
		return
	}
	for _, game := range f.games() {
		filter := f.views[game].active.Load()
		if filter == nil {
			continue
		}
		size := filter.Len()
		if kept, has := f.savedSizes[game]; has && kept == size {
			continue
		}
		if err := f.save(game, filter); err != nil {
			f.metrics.snapshots.WithLabelValues(unsaved).Inc()
			f.Logger.Warn("nickname snapshot save failed; the next start reads more from the ledger", "game", game, "error", err)
			continue
		}
		f.savedSizes[game] = size
		f.metrics.snapshots.WithLabelValues(saved).Inc()
	}
}

func (f *nameReplicator) save(game string, filter *nickname.Filter) error {
	stamp := nickname.SnapshotInfo{Game: game, Epoch: f.Epoch, Rules: nickname.RulesVersion, Watermark: f.watermark.Load()}
	return f.Snapshots.Save(game, func(w io.Writer) error { return filter.Write(w, stamp) })
}
