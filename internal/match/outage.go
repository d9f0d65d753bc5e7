package match

import (
	"context"
	"errors"
)

// storeOutageMS is how long, up to now, this node could not do anything for the open
// question of a match: since the store was last found in reach. 0 while that is
// as it should be.
func (e *Engine) storeOutageMS(v View) int64 {
	lostMS := e.Now() - max(e.storeReachedAt.Load(), v.OpensAt)
	if lostMS < pollEvery.Milliseconds()+outageMS {
		return 0
	}
	return lostMS
}

// noteStoreReached notes that the store is in reach. After an outage the time that it
// took is given back to the open questions here.
func (e *Engine) noteStoreReached(ctx context.Context) {
	now := e.Now()
	since := e.storeReachedAt.Swap(now)
	if now-since < pollEvery.Milliseconds()+outageMS {
		return
	}
	e.Logger.Warn("nothing could be done for matches for a while", "ms", now-since)
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
		e.Logger.Warn("time lost to an outage could not be given back everywhere", "error", err)
	}
}

// handleLoss ends a match here that the store has forgotten, or has forgotten
// something of, and gives the error that there was. Others are given back as
// they are.
func (e *Engine) handleLoss(ctx context.Context, l *localMatch, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		e.handleMissing(l)
	case errors.Is(err, ErrAbandoned):
		return e.abandon(ctx, l)
	}
	return err
}

// handleMissing lets go of a match that is not there any more. One that was not over
// is abandoned.
func (e *Engine) handleMissing(l *localMatch) {
	l.mu.Lock()
	running := !l.state.Phase.hasEnded()
	l.endAbandoned()
	l.mu.Unlock()
	e.scheduleLifecycle(l)
	if running {
		e.metrics.ended.WithLabelValues(string(l.plan.Mode), string(Abandoned)).Inc()
		e.Logger.Warn("a running match is gone from the store; it is abandoned", "match", l.plan.ID)
	}
	e.dropLocal(l)
}

// abandon ends a match, on all nodes, of which the store has forgotten what it
// had acknowledged. It gives ErrAbandoned once that is done.
func (e *Engine) abandon(ctx context.Context, l *localMatch) error {
	for range maxSteps {
		v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: -1})
		if err != nil {
			return e.handleLoss(ctx, l, err)
		}
		if v.Phase.hasEnded() { // perhaps by what was left of it: that result stands, here too it is over
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
			e.Logger.Warn("the store has forgotten steps of a match; it is abandoned", "match", l.plan.ID)
			return ErrAbandoned
		}
	}
	return errMatchChanging
}
