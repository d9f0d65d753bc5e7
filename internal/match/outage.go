package match

import (
	"context"
	"errors"
)

// outage is how long, up to now, this node could not do anything for the open
// question of a match: since the store was last found in reach. 0 while that is
// as it should be.
func (e *Engine) outage(v View) int64 {
	lost := e.Now() - max(e.reached.Load(), v.OpensAt)
	if lost < pollEvery.Milliseconds()+outageMS {
		return 0
	}
	return lost
}

// noteReach notes that the store is in reach. After an outage the time that it
// took is given back to the open questions here.
func (e *Engine) noteReach(ctx context.Context) {
	now := e.Now()
	since := e.reached.Swap(now)
	if now-since < pollEvery.Milliseconds()+outageMS {
		return
	}
	e.Logger.Warn("nothing could be done for matches for a while", "ms", now-since)
	err := each(e.unfinished(), func(l *live) error {
		if l.known().Phase != Open {
			return nil
		}
		return e.course(ctx, l, View{}, func(p *Plan, v View, now int64) (Step, bool) {
			lost := now - max(since, v.OpensAt)
			if !v.extendable() || lost < outageMS {
				return Step{}, false
			}
			return extend(p, v, lost, now), true
		})
	})
	if err != nil {
		e.Logger.Warn("time lost to an outage could not be given back everywhere", "error", err)
	}
}

// lost ends a match here that the store has forgotten, or has forgotten
// something of, and gives the error that there was. Others are given back as
// they are.
func (e *Engine) lost(ctx context.Context, l *live, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		e.vanish(l)
	case errors.Is(err, ErrAbandoned):
		return e.abandon(ctx, l)
	}
	return err
}

// vanish lets go of a match that is not there any more. One that was not over
// is abandoned.
func (e *Engine) vanish(l *live) {
	l.mu.Lock()
	running := !l.state.Phase.ended()
	l.endAbandoned()
	l.mu.Unlock()
	e.noteTurn(l)
	if running {
		e.metrics.over.WithLabelValues(string(l.plan.Mode), string(Abandoned)).Inc()
		e.Logger.Warn("a running match is gone from the store; it is abandoned", "match", l.plan.ID)
	}
	e.drop(l)
}

// abandon ends a match, on all nodes, of which the store has forgotten what it
// had acknowledged. It gives ErrAbandoned once that is done.
func (e *Engine) abandon(ctx context.Context, l *live) error {
	for range maxSteps {
		v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: -1})
		if err != nil {
			return e.lost(ctx, l, err)
		}
		if v.Phase.ended() { // perhaps by what was left of it: that result stands, here too it is over
			v.Ending = Abandoned
			e.follow(l, v)
			return ErrAbandoned
		}
		s := abandon(l.plan, v)
		st := stretch{e: e, l: l}
		taken, err := st.take(ctx, &s, v)
		if taken {
			_, err = st.pause(ctx, &s, View{State: s.To})
			e.arm(l)
		}
		if err != nil {
			return err
		}
		if taken {
			e.Logger.Warn("the store has forgotten steps of a match; it is abandoned", "match", l.plan.ID)
			return ErrAbandoned
		}
	}
	return errMoving
}
