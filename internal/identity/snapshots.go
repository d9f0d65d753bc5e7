package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"laststand/internal/nickname"
)

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
