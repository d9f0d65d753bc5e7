package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// loadMatch returns a match that this node holds, or loads it. Clients send any
// text as a match id. A text that is not a valid id is not found and never
// becomes part of a key.
func (e *Engine) loadMatch(ctx context.Context, match string) (*localMatch, error) {
	if l := e.findLocal(match); l != nil {
		return l, nil
	}
	if !protocol.IsMatchID(match) {
		return nil, ErrNotFound
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: match, WantPlan: true, After: -1})
	if err != nil {
		e.countUnreadable(match, err)
		return nil, err
	}
	l := e.keepLocal(newLocalMatch(v))
	e.armTimer(l)
	return l, nil
}

// findLocal returns a match that this node holds, or nil.
func (e *Engine) findLocal(match string) *localMatch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.localMatches[match]
}

// keepLocal stores a loaded match, unless another goroutine stored it first. It
// returns the stored one.
func (e *Engine) keepLocal(l *localMatch) *localMatch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.localMatches[l.plan.ID]; first != nil {
		return first
	}
	e.localMatches[l.plan.ID] = l
	e.metrics.localMatches.Inc()
	return l
}

// dropLocal releases a match that is over.
func (e *Engine) dropLocal(l *localMatch) {
	for _, player := range l.release() {
		e.removeAttached(l, player)
	}
	e.replayBytes.Add(-l.replay.clear(true))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.localMatches[l.plan.ID] == l {
		delete(e.localMatches, l.plan.ID)
		e.metrics.localMatches.Dec()
	}
}

// runningMatches lists the matches at this node that are not known to be over.
func (e *Engine) runningMatches() []*localMatch {
	return e.filterLocal(func(l *localMatch) bool { return !l.knownState().Phase.hasEnded() })
}

// filterLocal lists the matches at this node for which keep returns true.
func (e *Engine) filterLocal(keep func(*localMatch) bool) []*localMatch {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.localMatches))
	e.mu.Unlock() // unlock first: the lock order is match, then engine
	return slices.DeleteFunc(all, func(l *localMatch) bool { return !keep(l) })
}
