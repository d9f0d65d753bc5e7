package match

import (
	"context"
	"errors"
)

// storeOutageMS returns how long this node could not reach the store during the
// open question. It is 0 in normal operation.
func (e *Engine) storeOutageMS(view View) int64 {
	lostMS := e.Now() - max(e.storeReachedAt.Load(), view.OpensAt)
	if lostMS < recoveryInterval.Milliseconds()+minOutageMS {
		return 0
	}
	return lostMS
}

// noteStoreReached records that the store was reached. After an outage it adds the
// lost time to the open questions of this node.
func (e *Engine) noteStoreReached(ctx context.Context) {
	now := e.Now()
	since := e.storeReachedAt.Swap(now)
	if now-since < recoveryInterval.Milliseconds()+minOutageMS {
		return
	}
	e.Logger.Warn("store was unreachable; extending the open questions", "outage_ms", now-since)
	err := forEach(e.runningMatches(), func(local *localMatch) error {
		if local.knownState().Phase != PhaseOpen {
			return nil
		}
		return e.runSteps(ctx, local, View{}, func(plan *Plan, view View, now int64) (Step, bool) {
			lostMS := now - max(since, view.OpensAt)
			if !view.canExtend() || lostMS < minOutageMS {
				return Step{}, false
			}
			return extendStep(plan, view, lostMS, now), true
		})
	})
	if err != nil {
		e.Logger.Warn("question extension after an outage failed for some matches", "error", err)
	}
}

// handleLoss ends a local match that the store has lost completely or partly,
// and returns the error. It returns other errors unchanged.
func (e *Engine) handleLoss(ctx context.Context, local *localMatch, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		e.handleMissing(local)
	case errors.Is(err, ErrAbandoned):
		return e.abandon(ctx, local)
	}
	return err
}

// handleMissing releases a match that the store no longer has. If the match was
// not over, it is abandoned.
func (e *Engine) handleMissing(local *localMatch) {
	local.mu.Lock()
	running := !local.state.Phase.hasEnded()
	local.endAsAbandoned()
	local.mu.Unlock()
	e.scheduleLifecycle(local)
	if running {
		e.metrics.ends.WithLabelValues(string(local.plan.Mode), string(ReasonAbandoned)).Inc()
		e.Logger.Warn("running match missing in the store; abandoned it", "match", local.plan.ID)
	}
	e.dropLocalMatch(local)
}

// abandon ends a match on all nodes after the store has lost acknowledged
// steps. It returns ErrAbandoned when that is done.
func (e *Engine) abandon(ctx context.Context, local *localMatch) error {
	for range maxStepAttempts {
		view, err := e.Store.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: -1})
		if err != nil {
			return e.handleLoss(ctx, local, err)
		}
		if view.Phase.hasEnded() { // another node may have ended it with incomplete data: keep that result and end it here, too
			view.EndReason = ReasonAbandoned
			e.adoptView(local, view)
			return ErrAbandoned
		}
		step := abandonStep(local.plan, view)
		steps := stepRun{engine: e, match: local}
		applied, err := steps.tryStep(ctx, &step)
		if applied {
			_, err = steps.afterStep(ctx, &step, View{State: step.NewState})
			e.armTimer(local)
		}
		if err != nil {
			return err
		}
		if applied {
			e.Logger.Warn("store lost steps of a match; abandoned it", "match", local.plan.ID)
			return ErrAbandoned
		}
	}
	return errMatchChanging
}
