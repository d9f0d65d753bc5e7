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
	if local := e.findLocalMatch(match); local != nil {
		return local, nil
	}
	if !protocol.IsMatchID(match) {
		return nil, ErrNotFound
	}
	view, err := e.Store.Read(ctx, ReadQuery{Match: match, WantPlan: true, AfterSeq: -1})
	if err != nil {
		e.countUnreadable(match, err)
		return nil, err
	}
	local := e.storeLocalMatch(newLocalMatch(view))
	e.armTimer(local)
	return local, nil
}

// findLocalMatch returns a match that this node holds, or nil.
func (e *Engine) findLocalMatch(match string) *localMatch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.localMatches[match]
}

// storeLocalMatch stores a loaded match, unless another goroutine stored it first. It
// returns the stored one.
func (e *Engine) storeLocalMatch(local *localMatch) *localMatch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.localMatches[local.plan.ID]; first != nil {
		return first
	}
	e.localMatches[local.plan.ID] = local
	e.metrics.localMatches.Inc()
	return local
}

// dropLocalMatch releases a match that is over.
func (e *Engine) dropLocalMatch(local *localMatch) {
	for _, player := range local.stopAndListPlayers() {
		e.removeAttachedMatch(local, player)
	}
	e.replayBytes.Add(-local.replay.clear(true))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.localMatches[local.plan.ID] == local {
		delete(e.localMatches, local.plan.ID)
		e.metrics.localMatches.Dec()
	}
}

// runningMatches lists the matches at this node that are not known to be over.
func (e *Engine) runningMatches() []*localMatch {
	return e.filterLocalMatches(func(local *localMatch) bool { return !local.knownState().Phase.hasEnded() })
}

// filterLocalMatches lists the matches at this node for which keep returns true.
func (e *Engine) filterLocalMatches(keep func(*localMatch) bool) []*localMatch {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.localMatches))
	e.mu.Unlock() // unlock first: the lock order is match, then engine
	return slices.DeleteFunc(all, func(local *localMatch) bool { return !keep(local) })
}
