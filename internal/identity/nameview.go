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

// lookupResult is what a view returned for a name, and whether that was right. Its value is
// the label in metrics.
type lookupResult string

const (
	lookupUnready       lookupResult = "unready"        // the view is not loaded yet
	lookupAbsent        lookupResult = "absent"         // not in the view, and free
	lookupLate          lookupResult = "late"           // not in the view, but taken: claimed at another node a moment ago
	lookupTaken         lookupResult = "taken"          // in the view, and taken
	lookupFalsePositive lookupResult = "false_positive" // in the view, but free
	lookupMaybe         lookupResult = "maybe"          // in the view; the ledger has not confirmed it yet; never counted
)

// The reasons for building a view.
const (
	causeStart        = "start"  // the node has started and has no usable snapshot
	causeFull         = "full"   // the filter has about as many names as it was sized for
	causeClockSetBack = "clock"  // the ledger's clock was set back
	causeWentBack     = "ledger" // the ledger went back
)

// nameView is this node's view of a game's nicknames. A name that is not in the view is
// free, as far as this node knows. A name in the view may be taken. Names that no player
// has any more leave the view when it is rebuilt.
type nameView struct {
	game       string
	active     atomic.Pointer[nickname.Filter] // nil until it is loaded; lookups then ask the ledger
	lookups    map[lookupResult]*atomic.Int64  // how many lookups had each result
	savedNames int                             // names in the last snapshot, -1: none; only saveSnapshots uses it after the start

	mu        sync.Mutex
	building  *nickname.Filter // the filter that is being built; nil: none
	fullAbove int              // the active filter counts as full above this many names
	outdated  string           // why the active filter may lack names: causeClockSetBack, causeWentBack, or "" if it does not
}

func newNameView(game string) *nameView {
	lookups := map[lookupResult]*atomic.Int64{}
	for _, result := range []lookupResult{lookupUnready, lookupAbsent, lookupLate, lookupTaken, lookupFalsePositive} {
		lookups[result] = new(atomic.Int64)
	}
	return &nameView{game: game, lookups: lookups, savedNames: -1}
}

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

// add adds the skeleton of a name that the ledger has committed, also to the filter being
// built.
func (v *nameView) add(skeleton string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if filter := v.active.Load(); filter != nil {
		filter.Add(skeleton)
	}
	if v.building != nil {
		v.building.Add(skeleton)
	}
}

// setBuilding adds all new names also to this filter from now on. nil: to none.
func (v *nameView) setBuilding(filter *nickname.Filter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.building = filter
}

// activate replaces the active filter by the one that was being built, if there is one. It
// must have all names that were committed before setBuilding.
func (v *nameView) activate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.building == nil {
		return
	}
	capacity := v.building.Cap()
	v.fullAbove = capacity - rand.IntN(capacity/fullJitterDivisor+1) //nolint:gosec // no secret
	v.active.Store(v.building)
	v.building, v.outdated = nil, ""
}

func (v *nameView) markOutdated(cause string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.outdated = cause
}

// buildCause returns why the view must be built, or "" if that is not necessary.
func (v *nameView) buildCause() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch filter := v.active.Load(); {
	case filter == nil:
		return causeStart
	case v.outdated != "":
		return v.outdated
	case filter.Len() > v.fullAbove && filter.Cap() < nickname.MaxFilterCapacity:
		return causeFull
	}
	return ""
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
