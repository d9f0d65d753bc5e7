package match

import (
	"context"
	"errors"
)

// storeOutageMS returns how long this node could not reach the store during the
// open question. It is 0 in normal operation.
func (e *Engine) storeOutageMS(v View) int64 {
	lostMS := e.Now() - max(e.storeReachedAt.Load(), v.OpensAt)
	if lostMS < pollEvery.Milliseconds()+outageMS {
		return 0
	}
	return lostMS
}

// noteStoreReached records that the store was reached. After an outage it adds the
// lost time to the open questions of this node.
func (e *Engine) noteStoreReached(ctx context.Context) {
	now := e.Now()
	since := e.storeReachedAt.Swap(now)
	if now-since < pollEvery.Milliseconds()+outageMS {
		return
	}
	e.Logger.Warn("store was unreachable; extending the open questions", "outage_ms", now-since)
	err := forEach(e.runningMatches(), func(l *localMatch) error {
		if l.knownState().Phase != Open {
			return nil
		}
		return e.runSteps(ctx, l, View{}, func(p *Plan, v View, now int64) (Step, bool) {
			lostMS := now - max(since, v.OpensAt)
			if !v.canExtend() || lostMS < outageMS {
				return Step{}, false
			}
			return extendStep(p, v, lostMS, now), true
		})
	})
	if err != nil {
		e.Logger.Warn("question extension after an outage failed for some matches", "error", err)
	}
}

// handleLoss ends a local match that the store has lost completely or partly,
// and returns the error. It returns other errors unchanged.
func (e *Engine) handleLoss(ctx context.Context, l *localMatch, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		e.handleMissing(l)
	case errors.Is(err, ErrAbandoned):
		return e.abandon(ctx, l)
	}
	return err
}

// handleMissing releases a match that the store no longer has. If the match was
// not over, it is abandoned.
func (e *Engine) handleMissing(l *localMatch) {
	l.mu.Lock()
	running := !l.state.Phase.hasEnded()
	l.endAbandoned()
	l.mu.Unlock()
	e.scheduleLifecycle(l)
	if running {
		e.metrics.ended.WithLabelValues(string(l.plan.Mode), string(Abandoned)).Inc()
		e.Logger.Warn("running match missing in the store; abandoned it", "match", l.plan.ID)
	}
	e.dropLocal(l)
}

// abandon ends a match on all nodes after the store has lost acknowledged
// steps. It returns ErrAbandoned when that is done.
func (e *Engine) abandon(ctx context.Context, l *localMatch) error {
	for range maxSteps {
		v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: -1})
		if err != nil {
			return e.handleLoss(ctx, l, err)
		}
		if v.Phase.hasEnded() { // another node may have ended it with incomplete data: keep that result and end it here, too
			v.EndReason = Abandoned
			e.adoptView(l, v)
			return ErrAbandoned
		}
		s := abandonStep(l.plan, v)
		st := stepRun{engine: e, match: l}
		won, err := st.tryStep(ctx, &s, v)
		if won {
			_, err = st.afterStep(ctx, &s, View{State: s.To})
			e.armTimer(l)
		}
		if err != nil {
			return err
		}
		if won {
			e.Logger.Warn("store lost steps of a match; abandoned it", "match", l.plan.ID)
			return ErrAbandoned
		}
	}
	return errMatchChanging
}
