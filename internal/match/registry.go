package match

import (
	"maps"
	"slices"
	"sync"
)

// registry holds the matches of this node.
type registry struct {
	*engineBase
	mu              sync.Mutex
	localMatches    map[string]*localMatch
	matchesByPlayer map[playerKey][]*localMatch // the matches that push to each player's session at this node
}

func newRegistry(base *engineBase) *registry {
	return &registry{engineBase: base, localMatches: make(map[string]*localMatch), matchesByPlayer: make(map[playerKey][]*localMatch)}
}

// findLocalMatch returns a match that this node holds, or nil.
func (r *registry) findLocalMatch(match string) *localMatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.localMatches[match]
}

// storeLocalMatch stores a loaded match, unless another goroutine stored it first. It
// returns the stored one.
func (r *registry) storeLocalMatch(local *localMatch) *localMatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.localMatches[local.plan.ID]; first != nil {
		return first
	}
	local.seen.Node = r.Node
	r.localMatches[local.plan.ID] = local
	r.metrics.localMatches.Inc()
	return local
}

// dropLocalMatch releases a match that is over.
func (r *registry) dropLocalMatch(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	r.dropLocked(local)
}

// dropUnused releases a match that has no sessions here and whose newest known step is not this
// node's: another node advances it, or a sweep finds it. It releases a match only when two
// checks in a row find it so, because the reply to a step may be on its way. It reports whether
// it released the match.
func (r *registry) dropUnused(local *localMatch) bool {
	local.mu.Lock()
	defer local.mu.Unlock()
	wasUnused := local.isUnused
	local.isUnused = len(local.sessions) == 0 && local.ownStepVersion < local.state.Version
	if !wasUnused || !local.isUnused {
		return false
	}
	r.dropLocked(local)
	return true
}

// dropLocked releases a match. Callers may still use their copy: it gets no session and no timer
// any more. The caller holds the mutex of the match.
func (r *registry) dropLocked(local *localMatch) {
	local.isDropped = true
	local.timer.Stop()
	for player := range local.sessions {
		r.removeAttachedMatch(local, player)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.localMatches[local.plan.ID] == local {
		delete(r.localMatches, local.plan.ID)
		r.metrics.localMatches.Dec()
	}
}

// filterLocalMatches lists the matches at this node for which keep returns true.
func (r *registry) filterLocalMatches(keep func(*localMatch) bool) []*localMatch {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.localMatches))
	r.mu.Unlock() // unlock first: the lock order is match, then engine
	return slices.DeleteFunc(all, func(local *localMatch) bool { return !keep(local) })
}

// addAttachedMatch records that a player's session gets the pushes of a match.
func (r *registry) addAttachedMatch(local *localMatch, player string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := playerKey{local.plan.Game, player}
	if !slices.Contains(r.matchesByPlayer[key], local) {
		r.matchesByPlayer[key] = append(r.matchesByPlayer[key], local)
	}
}

// removeAttachedMatch undoes addAttachedMatch.
func (r *registry) removeAttachedMatch(local *localMatch, player string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := playerKey{local.plan.Game, player}
	others := slices.DeleteFunc(r.matchesByPlayer[key], func(other *localMatch) bool { return other == local })
	if len(others) == 0 {
		delete(r.matchesByPlayer, key)
		return
	}
	r.matchesByPlayer[key] = others
}

func (r *registry) attachedMatches(game, player string) []*localMatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.matchesByPlayer[playerKey{game, player}])
}
