package match

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// registry holds the matches of this node.
type registry struct {
	*engineBase
	mu              sync.Mutex
	localMatches    map[string]*localMatch
	matchesByPlayer map[playerKey][]*localMatch // the matches that push to each player's session at this node

	unreadable  unreadableMatches
	replayBytes atomic.Int64 // size of all replay copies
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
	r.localMatches[local.plan.ID] = local
	r.metrics.localMatches.Inc()
	return local
}

// dropLocalMatch releases a match that is over.
func (r *registry) dropLocalMatch(local *localMatch) {
	for _, player := range local.stopAndListPlayers() {
		r.removeAttachedMatch(local, player)
	}
	r.replayBytes.Add(-local.replay.clear(true))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.localMatches[local.plan.ID] == local {
		delete(r.localMatches, local.plan.ID)
		r.metrics.localMatches.Dec()
	}
}

// runningMatches lists the matches at this node that are not known to be over.
func (r *registry) runningMatches() []*localMatch {
	return r.filterLocalMatches(func(local *localMatch) bool { return !local.knownState().Phase.hasEnded() })
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

// countReplayBytes adds to the size of all copies and drops them all above
// maxReplayBytes.
func (r *registry) countReplayBytes(addedBytes int64) {
	if r.replayBytes.Add(addedBytes) <= maxReplayBytes {
		return
	}
	for _, local := range r.filterLocalMatches(func(*localMatch) bool { return true }) {
		r.replayBytes.Add(-local.replay.clear(false))
	}
}

// countUnreadable counts an unreadable match. It logs the match once until it
// is forgotten.
func (r *registry) countUnreadable(match string, err error) {
	var unreadable *UnreadableError
	if !errors.As(err, &unreadable) {
		return
	}
	r.metrics.unreadable.WithLabelValues(unreadable.Reason).Inc()
	if r.unreadable.add(match) {
		r.Logger.Warn("match not readable by this node; its players count as not playing", "match", match, "reason", unreadable.Reason, "error", unreadable.Err)
	}
}

// unreadableMatches holds the matches that this node could not read. For each
// it counts the sweeps in a row that found the match overdue.
type unreadableMatches struct {
	mu     sync.Mutex
	sweeps map[string]int
}

// add remembers a match and reports whether it is new.
func (u *unreadableMatches) add(match string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, isKnown := u.sweeps[match]; isKnown || len(u.sweeps) >= maxUnreadableMatches {
		return false
	}
	if u.sweeps == nil {
		u.sweeps = make(map[string]int)
	}
	u.sweeps[match] = 0
	return true
}

// countOverdue counts a sweep that found the match overdue and returns the
// number of such sweeps. It returns 0 for a match that is not known to be
// unreadable.
func (u *unreadableMatches) countOverdue(match string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, known := u.sweeps[match]
	if !known {
		return 0
	}
	u.sweeps[match] = n + 1
	return n + 1
}

// retain forgets all matches except the given ones.
func (u *unreadableMatches) retain(matches []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.sweeps) == 0 {
		return
	}
	due := make(map[string]bool, len(matches))
	for _, id := range matches {
		due[id] = true
	}
	maps.DeleteFunc(u.sweeps, func(id string, _ int) bool { return !due[id] })
}

// maxUnreadableMatches limits the unreadable matches that a node remembers.
const maxUnreadableMatches = 20_000
