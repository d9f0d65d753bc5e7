package identity

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"laststand/internal/nickname"
)

// filterRate is the rate of false "perhaps" of a full filter.
const filterRate = 0.01

// The size of a game's first filter, some 78 KB, and how much room one has that
// is built anew.
const (
	firstNames = 1 << 16
	roomAbove  = 5 // of so many, one is free
	// fullWithin is the last part of a filter, one of so many, in which it is said
	// to be full, at random: lest all nodes read all names at the same time.
	fullWithin = 10
)

// knownNames is this node's view of the nicknames of a game: what is not in it
// is free, as far as this node knows; what is in it may be taken.
type knownNames struct {
	game    string
	serving atomic.Pointer[nickname.Filter] // nil: none yet, the ledger is asked
	answers [answers]atomic.Int64
	stale   atomic.Int64 // names in it that nobody has any more, as last counted

	mu   sync.Mutex
	next *nickname.Filter // is being filled to serve instead; nil: none
	most int              // names, above which the one that serves is full
	want reason           // to build it anew; "": none
}

func newKnownNames(game string) *knownNames { return &knownNames{game: game} }

// has says whether the ledger is to be asked for the name.
func (k *knownNames) has(n nickname.Name) bool { return k.look(n) != notIn }

// look says what the view knows of a name. Whoever learns more says so to learn.
func (k *knownNames) look(n nickname.Name) answer {
	switch f := k.serving.Load(); {
	case f == nil:
		return unready
	case f.MayHave(n.Skeleton):
		return mayBe
	}
	return notIn
}

// learn counts what came of a look at a name, which is now known to be free, or
// taken.
func (k *knownNames) learn(seen answer, isTaken bool) {
	switch {
	case seen == mayBe && isTaken:
		seen = taken
	case seen == mayBe:
		seen = mistaken
	case seen == notIn && isTaken:
		seen = late
	}
	k.answers[seen].Add(1)
}

func (k *knownNames) add(n nickname.Name) { k.addSkeleton(n.Skeleton) }

// addSkeleton adds a name that the ledger has committed, also to the filter that
// is being built, and reports whether it was new to the one that serves.
func (k *knownNames) addSkeleton(skeleton string) (isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.serving.Load(); f != nil {
		isNew = f.Add(skeleton)
	}
	if k.next != nil {
		k.next.Add(skeleton)
	}
	return isNew
}

// prepare has a filter get all names that come from now on, until serve or drop.
func (k *knownNames) prepare(f *nickname.Filter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = f
}

// serve puts the prepared filter in the place of the former one. It has to have
// all names that were committed before it was prepared.
func (k *knownNames) serve() {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := k.next.Cap()
	k.most = size - rand.IntN(size/fullWithin+1) //nolint:gosec // no secret
	k.serving.Store(k.next)
	k.next = nil
}

// drop lets go of the prepared filter.
func (k *knownNames) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = nil
}

// order wants the view built anew; the first reason stands.
func (k *knownNames) order(why reason) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.want == "" {
		k.want = why
	}
}

// ordered is why the view is to be built anew, "" if it is not.
func (k *knownNames) ordered() reason {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.want
}

// done forgets the order.
func (k *knownNames) done() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.want = ""
}

// full holds when about as many names are in the view as it was made for, and a
// larger one is possible.
func (k *knownNames) full() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.serving.Load()
	return f != nil && f.Len() > k.most && f.Cap() < nickname.MaxFilter
}

// sizeFor is how many names a filter is made for that gets so many now: the
// first size, doubled until a fifth is free.
func sizeFor(names int64, first int) int {
	size := int64(first)
	for size < nickname.MaxFilter && names > size-size/roomAbove {
		size *= 2
	}
	return int(size)
}
