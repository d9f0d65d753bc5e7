package identity

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"laststand/internal/nickname"
)

// filterRate is the false positive rate of a full filter.
const filterRate = 0.01

// The size of a game's first filter (78 KB), and the free share of a rebuilt one.
const (
	firstNames = 1 << 16
	freeShare  = 5 // one name in so many is free
	// fullSpread is the last part of a filter, one of so many. A random point in it
	// counts as full, so that not all nodes rebuild at the same time.
	fullSpread = 10
)

// nameView is this node's view of a game's nicknames. A name that is not in it is free,
// as far as this node knows. A name in it may be taken.
type nameView struct {
	game    string
	active  atomic.Pointer[nickname.Filter] // nil until it is loaded: until then lookups ask the ledger
	lookups [lookupResults]atomic.Int64
	stale   atomic.Int64 // names in it that no player has any more, at the last count

	mu            sync.Mutex
	next          *nickname.Filter // the filter being built, nil for none
	fullAt        int              // the active filter is full above this many names
	rebuildReason reason           // why to build it again; "": no reason
}

func newNameView(game string) *nameView { return &nameView{game: game} }

// mayExist returns true if the ledger must be asked for the name.
func (k *nameView) mayExist(n nickname.Name) bool { return k.lookUp(n) != notIn }

// lookUp returns what the view knows of a name. The caller reports the truth to
// countLookup.
func (k *nameView) lookUp(n nickname.Name) lookupResult {
	switch f := k.active.Load(); {
	case f == nil:
		return unready
	case f.MayHave(n.Skeleton):
		return mayBe
	}
	return notIn
}

// countLookup counts the result of a lookup, after the caller has found whether the
// name is taken.
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

// prepare makes a filter receive all names from now on, until activate or drop.
func (k *nameView) prepare(f *nickname.Filter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = f
}

// activate replaces the active filter by the prepared one. That one must have all names
// that were committed before prepare.
func (k *nameView) activate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := k.next.Cap()
	k.fullAt = size - rand.IntN(size/fullSpread+1) //nolint:gosec // no secret
	k.active.Store(k.next)
	k.next = nil
}

// drop discards the prepared filter.
func (k *nameView) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = nil
}

// requestRebuild requests a rebuild of the view; the first cause stays.
func (k *nameView) requestRebuild(cause reason) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rebuildReason == "" {
		k.rebuildReason = cause
	}
}

// requestedRebuild returns why the view must be rebuilt, "" if it need not.
func (k *nameView) requestedRebuild() reason {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rebuildReason
}

// clearRequest removes the request of a rebuild.
func (k *nameView) clearRequest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rebuildReason = ""
}

// isFull returns true if the view has about as many names as it was made for, and a
// larger one is possible.
func (k *nameView) isFull() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.active.Load()
	return f != nil && f.Len() > k.fullAt && f.Cap() < nickname.MaxFilter
}

// sizeFor returns the size of a filter for so many names: the first size, doubled until
// a fifth is free.
func sizeFor(names int64, first int) int {
	size := int64(first)
	for size < nickname.MaxFilter && names > size-size/freeShare {
		size *= 2
	}
	return int(size)
}
