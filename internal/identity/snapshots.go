package identity

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"laststand/internal/nickname"
)

// begin takes the snapshots of the views that there are, and orders the others.
// None serves before catchUp.
func (f *follower) begin(ctx context.Context) error {
	clock, err := f.Named.Clock(ctx)
	if err != nil {
		return err
	}
	whole := clock
	for _, game := range f.games() {
		k := f.known[game]
		filter, watermark := f.load(game, clock)
		if filter == nil {
			k.order(byStart)
			continue
		}
		k.prepare(filter)
		whole = min(whole, watermark)
	}
	f.whole.Store(whole)
	return nil
}

// catchUp reads what was claimed since the oldest snapshot, and has the views
// serve that there are.
func (f *follower) catchUp(ctx context.Context) error {
	if err := f.readWhole(ctx); err != nil {
		return err
	}
	for _, k := range f.known {
		if k.ordered() == "" {
			k.serve()
		}
	}
	return nil
}

// load reads the snapshot of a game; nil if there is none to be trusted.
func (f *follower) load(game string, clock int64) (*nickname.Filter, int64) {
	if f.Snapshots == nil {
		return nil, 0
	}
	filter, stamp, err := f.open(game)
	outcome := f.judge(game, clock, filter, stamp, err)
	f.metrics.snapshots.WithLabelValues(outcome).Inc()
	switch outcome {
	case loaded:
		f.kept[game] = filter.Len()
		return filter, stamp.Watermark
	case missing:
	default:
		f.Logger.Warn("the snapshot of nicknames is not used; the view is built from the ledger", "game", game, "outcome", outcome, "error", err)
	}
	return nil, 0
}

func (f *follower) open(game string) (*nickname.Filter, nickname.SnapshotInfo, error) {
	r, err := f.Snapshots.Open(game)
	if err != nil {
		return nil, nickname.SnapshotInfo{}, err
	}
	filter, stamp, err := nickname.ReadFilter(r)
	return filter, stamp, errors.Join(err, r.Close())
}

// judge says whether a snapshot is one of this ledger's past, and in our form.
func (f *follower) judge(game string, clock int64, filter *nickname.Filter, s nickname.SnapshotInfo, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case errors.Is(err, nickname.ErrSnapshotVersion):
		return newer
	case err != nil:
		return broken
	case s.Game != game || s.Epoch != f.Epoch || s.Rules != nickname.RulesVersion || filter.Rate() != filterRate:
		return foreign
	case s.Watermark > clock+wholeOverlap.Milliseconds():
		return ahead
	}
	return loaded
}

// saveAll keeps snapshots of the views that have got names since their last one.
func (f *follower) saveAll() {
	if f.Snapshots == nil {
		return
	}
	for _, game := range f.games() {
		filter := f.known[game].serving.Load()
		if filter == nil {
			continue
		}
		size := filter.Len()
		if kept, has := f.kept[game]; has && kept == size {
			continue
		}
		if err := f.save(game, filter); err != nil {
			f.metrics.snapshots.WithLabelValues(unsaved).Inc()
			f.Logger.Warn("no snapshot of nicknames could be kept; the next start reads more from the ledger", "game", game, "error", err)
			continue
		}
		f.kept[game] = size
		f.metrics.snapshots.WithLabelValues(saved).Inc()
	}
}

func (f *follower) save(game string, filter *nickname.Filter) error {
	stamp := nickname.SnapshotInfo{Game: game, Epoch: f.Epoch, Rules: nickname.RulesVersion, Watermark: f.whole.Load()}
	return f.Snapshots.Save(game, func(w io.Writer) error { return filter.Write(w, stamp) })
}
