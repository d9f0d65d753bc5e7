package match

import (
	"context"
	"errors"
)

// lossHandler ends matches that the store has lost completely or partly.
type lossHandler struct{ *localDelivery }

// handleLoss ends a local match that the store has lost completely or partly,
// and returns the error. It returns other errors unchanged.
func (l *lossHandler) handleLoss(ctx context.Context, local *localMatch, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		l.handleMissing(local)
	case errors.Is(err, ErrAbandoned):
		return l.abandon(ctx, local)
	}
	return err
}

// handleMissing releases a match that the store no longer has. If the match was
// not over, it is abandoned.
func (l *lossHandler) handleMissing(local *localMatch) {
	local.mu.Lock()
	running := !local.state.Phase.hasEnded()
	local.endAsAbandoned()
	local.mu.Unlock()
	l.emitChange(local)
	if running {
		l.metrics.ends.WithLabelValues(string(local.plan.Mode), string(ReasonAbandoned)).Inc()
		l.Logger.Warn("running match missing in the store; abandoned it", "match", local.plan.ID)
	}
	l.dropLocalMatch(local)
}

// abandon ends a match on all nodes after the store has lost acknowledged
// steps. It returns ErrAbandoned when that is done.
func (l *lossHandler) abandon(ctx context.Context, local *localMatch) error {
	for range maxStepAttempts {
		view, err := l.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: -1})
		if err != nil {
			return l.handleLoss(ctx, local, err)
		}
		if view.Phase.hasEnded() { // another node may have ended it with incomplete data: keep that result and end it here, too
			view.EndReason = ReasonAbandoned
			l.adoptView(local, view)
			return ErrAbandoned
		}
		step := abandonStep(local.plan, view)
		steps := stepRun{localDelivery: l.localDelivery, match: local}
		applied, err := steps.tryStep(ctx, &step, view)
		if applied {
			_, err = steps.afterStep(ctx, &step, View{State: step.NewState})
			l.armTimer(local)
		}
		if errors.Is(err, ErrNotFound) {
			l.handleMissing(local)
		}
		if err != nil {
			return err
		}
		if applied {
			l.Logger.Warn("store lost steps of a match; abandoned it", "match", local.plan.ID)
			return ErrAbandoned
		}
	}
	return errMatchChanging
}
