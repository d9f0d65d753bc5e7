package identity

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"laststand/internal/nickname"
)

// maxFalsePositiveRate is the rate of false positives of a filter that has as many names as it was
// sized for.
const maxFalsePositiveRate = 0.01

const (
	// defaultFilterCapacity is the number of names for which a game's first filter has room
	// (78 KB).
	defaultFilterCapacity = 1 << 16
	// A rebuilt filter has room for more names: at least one in freeDivisor is free.
	freeDivisor = 5
	// A filter counts as full at a random number of names in the last tenth (one in
	// fullJitterDivisor) of its capacity. So not all nodes rebuild at the same time.
	fullJitterDivisor = 10
)

// lookupResult is what a view returned for a name, and whether that was right.
type lookupResult int

const (
	lookupUnready        lookupResult  = iota // the view is not loaded yet
	lookupAbsent                              // not in the view, and free
	lookupLate                                // not in the view, but taken: claimed at another node a moment ago
	lookupTaken                               // in the view, and taken
	lookupFalsePositive                       // in the view, but free
	lookupMaybe                               // in the view; the ledger has not confirmed it yet; never counted
	countedLookupResults = lookupMaybe        // how many results are counted: those before lookupMaybe
)

func (r lookupResult) String() string {
	return [...]string{"unready", "absent", "late", "taken", "false_positive", "maybe"}[r]
}

// rebuildCause is why the server rebuilds a view; "": no rebuild is requested.
type rebuildCause string

const (
	causeStart        rebuildCause = "start" // the node has started and has no usable snapshot
	causeFull         rebuildCause = "full"  // the filter has about as many names as it was sized for
	causeStale        rebuildCause = "stale" // too many names in the filter belong to no player any more
	causeClockSetBack rebuildCause = "clock" // the ledger's clock was set back
)

// nameView is this node's view of a game's nicknames. A name that is not in the view is
// free, as far as this node knows. A name in the view may be taken.
type nameView struct {
	game       string
	active     atomic.Pointer[nickname.Filter]    // nil until it is loaded; lookups then ask the ledger
	lookups    [countedLookupResults]atomic.Int64 // how many lookups had each result
	staleNames atomic.Int64                       // names in the active filter that no player has any more, at the last count

	mu             sync.Mutex
	building       *nickname.Filter // the filter that is being built; nil: none
	fullAbove      int              // the active filter counts as full above this many names
	requestedCause rebuildCause     // why to rebuild the view; "": no rebuild is requested
}

func newNameView(game string) *nameView { return &nameView{game: game} }

// mayExist returns true if the name may be taken, so that the caller must ask the ledger.
func (v *nameView) mayExist(name nickname.Name) bool { return v.lookUp(name) != lookupAbsent }

// lookUp returns what the view knows of a name: lookupUnready, lookupMaybe or
// lookupAbsent. A caller that learns whether the name is taken calls countLookup.
func (v *nameView) lookUp(name nickname.Name) lookupResult {
	switch filter := v.active.Load(); {
	case filter == nil:
		return lookupUnready
	case filter.MayContain(name.Skeleton):
		return lookupMaybe
	}
	return lookupAbsent
}

// countLookup counts a lookup. result is what lookUp returned, and isTaken whether the
// name is taken according to the ledger.
func (v *nameView) countLookup(result lookupResult, isTaken bool) {
	switch {
	case result == lookupMaybe && isTaken:
		result = lookupTaken
	case result == lookupMaybe:
		result = lookupFalsePositive
	case result == lookupAbsent && isTaken:
		result = lookupLate
	}
	v.lookups[result].Add(1)
}

func (v *nameView) add(name nickname.Name) { v.addSkeleton(name.Skeleton) }

// addSkeleton adds a name that the ledger has committed, also to the filter being
// built. It returns true if the active filter did not have it.
func (v *nameView) addSkeleton(skeleton string) (isNew bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if filter := v.active.Load(); filter != nil {
		isNew = filter.Add(skeleton)
	}
	if v.building != nil {
		v.building.Add(skeleton)
	}
	return isNew
}

// startBuilding adds all new names also to this filter from now on, until activateBuilt or
// discardBuilding.
func (v *nameView) startBuilding(filter *nickname.Filter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.building = filter
}

// activateLoaded activates the filter of a snapshot. It does nothing if there is none, or
// if a rebuild is requested.
func (v *nameView) activateLoaded() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.building != nil && v.requestedCause == "" {
		v.activateLocked()
	}
}

// activateBuilt replaces the active filter by the one that was being built, and removes the
// request for it. The caller must have added all names that were committed before
// startBuilding.
func (v *nameView) activateBuilt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.activateLocked()
	v.requestedCause = ""
}

func (v *nameView) activateLocked() {
	size := v.building.Cap()
	v.fullAbove = size - rand.IntN(size/fullJitterDivisor+1) //nolint:gosec // no secret
	v.active.Store(v.building)
	v.building = nil
}

// discardBuilding discards the filter that is being built.
func (v *nameView) discardBuilding() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.building = nil
}

// requestRebuild requests a rebuild of the view. If a rebuild is already requested, its
// cause stays.
func (v *nameView) requestRebuild(cause rebuildCause) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.requestedCause == "" {
		v.requestedCause = cause
	}
}

// requestedRebuild returns the cause of the requested rebuild, or "" if none is requested.
func (v *nameView) requestedRebuild() rebuildCause {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.requestedCause
}

// isFull returns true if the active filter has about as many names as it was sized for,
// and a larger filter is possible.
func (v *nameView) isFull() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	filter := v.active.Load()
	return filter != nil && filter.Len() > v.fullAbove && filter.Cap() < nickname.MaxFilterCapacity
}

// filterCapacity returns how many names to size a filter for that gets these names. It doubles
// the initial capacity until a fifth of it is free, at most up to nickname.MaxFilterCapacity.
func filterCapacity(names int64, initial int) int {
	capacity := int64(initial)
	for capacity < nickname.MaxFilterCapacity && names > capacity-capacity/freeDivisor {
		capacity *= 2
	}
	return int(capacity)
}

// falsePositiveRatio returns the share of free names for which the view wrongly returned
// that they may be taken. It is 0 before the first such name.
func (v *nameView) falsePositiveRatio() float64 {
	falsePositives := float64(v.lookups[lookupFalsePositive].Load())
	if falsePositives == 0 {
		return 0
	}
	return falsePositives / (falsePositives + float64(v.lookups[lookupAbsent].Load()))
}
