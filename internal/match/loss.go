package match

import (
	"context"
	"errors"
)

// handleLoss ends a local match that the store has lost completely or partly,
// and returns the error. It returns other errors unchanged. A match that this node cannot read is
// not lost: other nodes may continue it, and one that no node can read is removed later.
func (d *localDelivery) handleLoss(ctx context.Context, local *localMatch, err error) error {
	switch {
	case isGone(err):
		d.handleMissing(local)
	case errors.Is(err, ErrAbandoned):
		return d.abandon(ctx, local)
	}
	return err
}

// isGone reports whether the store has no such match. An ErrUnreadable match is not gone.
func isGone(err error) bool {
	return errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnreadable)
}

// handleMissing releases a match that the store no longer has. If the match was
// not over, it is abandoned.
func (d *localDelivery) handleMissing(local *localMatch) {
	local.mu.Lock()
	running := !local.state.Phase.hasEnded()
	if running {
		d.metrics.ends.WithLabelValues(string(local.plan.Mode), string(ReasonAbandoned)).Inc()
	}
	local.endAsAbandoned()
	local.mu.Unlock()
	d.emitChange(local)
	if running {
		d.Logger.Warn("running match missing in the store; abandoned it", "match", local.plan.ID)
	}
	d.dropLocalMatch(local)
}

// abandon ends a match on all nodes after the store has lost acknowledged
// steps. It returns ErrAbandoned when that is done.
func (d *localDelivery) abandon(ctx context.Context, local *localMatch) error {
	for range maxStepAttempts {
		view, err := d.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: -1})
		if err != nil {
			return d.handleLoss(ctx, local, err)
		}
		if view.Phase.hasEnded() { // another node may have ended it with incomplete data: keep that result and end it here, too
			view.EndReason = ReasonAbandoned
			d.adoptView(local, view)
			return ErrAbandoned
		}
		steps := stepRun{localDelivery: d, match: local}
		chain := steps.chainFrom(abandonStep(local.plan, view), view)
		applied, err := steps.tryChain(ctx, &chain)
		if applied {
			d.armTimer(local)
		}
		if isGone(err) {
			d.handleMissing(local)
		}
		if err != nil {
			return err
		}
		if applied {
			d.Logger.Warn("store lost steps of a match; abandoned it", "match", local.plan.ID)
			return ErrAbandoned
		}
	}
	return errMatchChanging
}
