package identity

import (
	"context"
	"errors"
	"io/fs"

	"laststand/internal/nickname"
)

// loadSnapshots loads a filter from each usable snapshot, and requests a rebuild of the
// views without one. The first full read activates the loaded filters. Once loadSnapshots
// has succeeded, it does nothing.
func (r *nameReplicator) loadSnapshots(ctx context.Context) error {
	if r.isLoaded {
		return nil
	}
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
	r.isLoaded = true
	return nil
}

// loadSnapshot returns the filter in the snapshot of a game and its watermark. The filter is nil if
// there is no usable snapshot. The watermark is the time up to which the filter has all
// names, by the ledger's clock, in epoch ms.
func (r *nameReplicator) loadSnapshot(game string, ledgerNow int64) (*nickname.Filter, int64) {
	if r.Snapshots == nil {
		return nil, 0
	}
	var filter *nickname.Filter
	var info nickname.SnapshotInfo
	snapshot, err := r.Snapshots.Load(game)
	if err == nil {
		filter, info, err = nickname.ParseSnapshot(snapshot)
	}
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
	snapshot, err := filter.Snapshot(nickname.SnapshotInfo{Game: game, Epoch: r.Epoch, Rules: nickname.RulesVersion, Watermark: r.fullReadClock.Load()})
	if err != nil {
		return err
	}
	return r.Snapshots.Save(game, snapshot)
}
