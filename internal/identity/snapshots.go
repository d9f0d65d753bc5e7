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
func (r *nameReplicator) loadSnapshots(ctx context.Context) error {
	ledgerNow, err := r.NameSource.Now(ctx)
	if err != nil {
		return err
	}
	oldest := ledgerNow
	for _, game := range r.games() {
		view := r.views[game]
		filter, watermark := r.loadSnapshot(game, ledgerNow)
		if filter == nil {
			view.requestRebuild(causeStart)
			continue
		}
		view.startBuilding(filter)
		oldest = min(oldest, watermark)
	}
	r.fullReadClock.Store(oldest)
	return nil
}

// catchUp reads the names that were claimed since the oldest snapshot, and activates the
// loaded filters.
func (r *nameReplicator) catchUp(ctx context.Context) error {
	if err := r.readFull(ctx); err != nil {
		return err
	}
	for _, view := range r.views {
		if view.requestedRebuild() == "" {
			view.activateBuilt()
		}
	}
	return nil
}

// loadSnapshot returns the filter in the snapshot of a game and its watermark. The filter is nil if
// there is no usable snapshot. The watermark is the time up to which the filter has all
// names, by the ledger's clock, in epoch ms.
func (r *nameReplicator) loadSnapshot(game string, ledgerNow int64) (*nickname.Filter, int64) {
	if r.Snapshots == nil {
		return nil, 0
	}
	filter, info, err := r.readSnapshot(game)
	outcome := r.classifySnapshot(game, ledgerNow, filter, info, err)
	r.metrics.snapshots.WithLabelValues(outcome).Inc()
	switch outcome {
	case snapshotLoaded:
		r.savedSizes[game] = filter.Len()
		return filter, info.Watermark
	case snapshotMissing:
	default:
		r.Logger.Warn("nickname snapshot ignored; the view is built from the ledger", "game", game, "outcome", outcome, "error", err)
	}
	return nil, 0
}

func (r *nameReplicator) readSnapshot(game string) (*nickname.Filter, nickname.SnapshotInfo, error) {
	snapshot, err := r.Snapshots.Open(game)
	if err != nil {
		return nil, nickname.SnapshotInfo{}, err
	}
	filter, info, err := nickname.ReadFilter(snapshot)
	return filter, info, errors.Join(err, snapshot.Close())
}

// classifySnapshot returns the outcome of reading a snapshot. It is snapshotLoaded if the snapshot
// belongs to this ledger, is not ahead of it, and has this program's format and rules.
func (r *nameReplicator) classifySnapshot(game string, ledgerNow int64, filter *nickname.Filter, info nickname.SnapshotInfo, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return snapshotMissing
	case errors.Is(err, nickname.ErrSnapshotVersion):
		return snapshotNewerFormat
	case err != nil:
		return snapshotBroken
	case info.Game != game || info.Epoch != r.Epoch || info.Rules != nickname.RulesVersion || filter.FalsePositiveRate() != maxFalsePositiveRate:
		return snapshotForeign
	case info.Watermark > ledgerNow+fullReadOverlap.Milliseconds():
		return snapshotAhead
	}
	return snapshotLoaded
}

// saveSnapshots saves a snapshot of each view that has new names.
func (r *nameReplicator) saveSnapshots() {
	if r.Snapshots == nil {
		return
	}
	for _, game := range r.games() {
		filter := r.views[game].active.Load()
		if filter == nil {
			continue
		}
		size := filter.Len()
		if savedSize, isKnown := r.savedSizes[game]; isKnown && savedSize == size {
			continue
		}
		if err := r.saveSnapshot(game, filter); err != nil {
			r.metrics.snapshots.WithLabelValues(snapshotSaveFailed).Inc()
			r.Logger.Warn("nickname snapshot save failed; the next start reads more from the ledger", "game", game, "error", err)
			continue
		}
		r.savedSizes[game] = size
		r.metrics.snapshots.WithLabelValues(snapshotSaved).Inc()
	}
}

func (r *nameReplicator) saveSnapshot(game string, filter *nickname.Filter) error {
	info := nickname.SnapshotInfo{Game: game, Epoch: r.Epoch, Rules: nickname.RulesVersion, Watermark: r.fullReadClock.Load()}
	return r.Snapshots.Save(game, func(w io.Writer) error { return filter.Write(w, info) })
}
