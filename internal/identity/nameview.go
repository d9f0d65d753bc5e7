package identity

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"laststand/internal/nickname"
)

// filterRate is the rate of false positives of a filter that has as many names as it was
// sized for.
const filterRate = 0.01

const (
	// initialFilterNames is how many names a game's first filter is sized for (78 KB).
	firstNames = 1 << 16
	// A rebuilt filter has room for more names: at least one in freeDivisor is free.
	freeShare = 5
	// A filter counts as full at a random number of names in the last tenth (one in
	// fullJitterDivisor) of its capacity. So not all nodes rebuild at the same time.
	fullSpread = 10
)

// nameView is this node's view of a game's nicknames. A name that is not in the view is
// free, as far as this node knows. A name in the view may be taken.
type nameView struct {
	game    string
	active  atomic.Pointer[nickname.Filter] // nil until it is loaded; lookups then ask the ledger
	lookups [lookupResults]atomic.Int64     // how many lookups had each result
	stale   atomic.Int64                    // names in the active filter that no player has any more, at the last count

	mu            sync.Mutex
	next          *nickname.Filter // the filter that is being built; nil: none
	fullAt        int              // the active filter counts as full above this many names
	rebuildReason reason           // why to rebuild the view; "": no rebuild is requested
}

func newNameView(game string) *nameView { return &nameView{game: game} }

// mayExist returns true if the name may be taken, so that the caller must ask the ledger.
func (k *nameView) mayExist(n nickname.Name) bool { return k.lookUp(n) != notIn }

// lookUp returns what the view knows of a name: lookupUnready, lookupMaybe or
// lookupAbsent. A caller that learns whether the name is taken calls countLookup.
func (k *nameView) lookUp(n nickname.Name) lookupResult {
	switch f := k.active.Load(); {
	case f == nil:
		return unready
	case f.MayHave(n.Skeleton):
		return mayBe
	}
	return notIn
}

// countLookup counts a lookup. result is what lookUp returned, and isTaken whether the
// name is taken according to the ledger.
func (k *nameView) countLookup(seen lookupResult, isTaken bool) {
	switch {
	case seen == mayBe && isTaken:
		seen = taken
	case seen == mayBe:
		seen = mistaken
	case seen == notIn && isTaken:
		seen = late
	}
	k.lookups[seen].Add(1)
}

func (k *nameView) add(n nickname.Name) { k.addSkeleton(n.Skeleton) }

// addSkeleton adds a name that the ledger has committed, also to the filter being
// built. It returns true if the active filter did not have it.
func (k *nameView) addSkeleton(skeleton string) (isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.active.Load(); f != nil {
		isNew = f.Add(skeleton)
	}
	if k.next != nil {
		k.next.Add(skeleton)
	}
	return isNew
}

// prepare adds all new names also to this filter from now on, until activateBuilt or
// discardBuilding.
func (k *nameView) prepare(f *nickname.Filter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = f
}

// activate replaces the active filter by the one that was being built. The caller must
// have added all names that were committed before startBuilding.
func (k *nameView) activate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := k.next.Cap()
	k.fullAt = size - rand.IntN(size/fullSpread+1) //nolint:gosec // no secret
	k.active.Store(k.next)
	k.next = nil
}

// drop discards the filter that is being built.
func (k *nameView) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = nil
}

// requestRebuild requests a rebuild of the view. If a rebuild is already requested, its
// cause stays.
func (k *nameView) requestRebuild(cause reason) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rebuildReason == "" {
		k.rebuildReason = cause
	}
}

// requestedRebuild returns the cause of the requested rebuild, or "" if none is requested.
func (k *nameView) requestedRebuild() reason {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rebuildReason
}

// clearRequest removes the request for a rebuild.
func (k *nameView) clearRequest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rebuildReason = ""
}

// isFull returns true if the active filter has about as many names as it was sized for,
// and a larger filter is possible.
func (k *nameView) isFull() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.active.Load()
	return f != nil && f.Len() > k.fullAt && f.Cap() < nickname.MaxFilter
}

// sizeFor returns how many names to size a filter for that gets these names. It doubles
// the initial capacity until a fifth of it is free, at most up to nickname.MaxFilter.
func sizeFor(names int64, first int) int {
	size := int64(first)
	for size < nickname.MaxFilter && names > size-size/freeShare {
		size *= 2
	}
	return int(size)
}
