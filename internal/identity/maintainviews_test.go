package identity

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

const smallFilterNames = 64 // capacity of the first filter in these tests

func useSmallFilter(c *Config) { c.initialFilterCapacity = smallFilterNames }

// claimMany claims the names Name<from> to Name<to-1>.
func (s *fakeStore) claimMany(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		s.claim(t, fmt.Sprint("Name", i))
	}
}

// expectNames checks that the view knows the names Name<from> to Name<to-1>.
func (r *startedRegistry) expectNames(from, to int) {
	r.t.Helper()
	for i := from; i < to; i++ {
		r.expectKnown(fmt.Sprint("Name", i), true)
	}
}

// fill makes the view count as full.
func (v *nameView) fill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fullAbove = -1
}

func TestALargerViewIsBuiltWhileTheFormerOneIsUsed(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		store.claimMany(t, 0, smallFilterNames/2)
		registry, end := store.startRegistry(t, useSmallFilter)
		defer end()
		formerView := registry.views[game].active.Load()
		if formerView.Cap() != smallFilterNames {
			t.Fatalf("sized for %d names, want %d", formerView.Cap(), smallFilterNames)
		}
		store.claimMany(t, smallFilterNames/2, smallFilterNames+smallFilterNames/8)
		arrived := 0
		store.mu.Lock()
		store.onSkeletonRead = func(i int) { // names are claimed while the build reads all names
			if i >= smallFilterNames/4 {
				return
			}
			if registry.views[game].active.Load() != formerView {
				t.Error("the new view is used before it has all names")
			}
			name := fmt.Sprint("Meanwhile", i)
			store.claim(t, name)
			registry.views[game].add(testenv.Need(nickname.Parse(name))(t).Skeleton)
			arrived++
		}
		store.mu.Unlock()
		advance(buildInterval)
		store.mu.Lock()
		store.onSkeletonRead = nil
		store.mu.Unlock()
		if newView := registry.views[game].active.Load(); newView.Cap() != 2*smallFilterNames {
			t.Errorf("sized for %d names, want %d", newView.Cap(), 2*smallFilterNames)
		}
		if registry.rebuildCount(causeFull) != 1 || arrived != smallFilterNames/4 {
			t.Errorf("built %v times because it was full, %d names claimed during the build", registry.rebuildCount(causeFull), arrived)
		}
		registry.expectNames(0, smallFilterNames+smallFilterNames/8)
		for i := range arrived {
			registry.expectKnown(fmt.Sprint("Meanwhile", i), true)
		}
	})
}

// A name is committed during the build, for example by a rename, after the build has read the
// page that it belongs to.
// The new view has the name, because it also reads the recent names.
func TestNamesRenamedDuringABuildAreInTheNewView(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		store.claimMany(t, 0, smallFilterNames/2)
		registry, end := store.startRegistry(t, useSmallFilter)
		defer end()
		store.claim(t, "Moved")
		store.mu.Lock()
		store.uncommitted["moved"] = true // until the build has read its page
		store.onSkeletonRead = func(i int) {
			if i == 0 {
				store.mu.Lock()
				defer store.mu.Unlock()
				delete(store.uncommitted, "moved")
			}
		}
		store.mu.Unlock()
		registry.views[game].fill()
		advance(buildInterval)
		if registry.rebuildCount(causeFull) != 1 {
			t.Fatal("no view was built")
		}
		registry.expectKnown("Moved", true)
	})
}

// A build can take minutes. A name that is claimed at its start is in the new view, although
// the reads after the build no longer go back that far.
func TestNamesClaimedDuringALongBuildAreInTheNewView(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		store.claimMany(t, 0, smallFilterNames/2)
		registry, end := store.startRegistry(t, useSmallFilter)
		defer end()
		store.mu.Lock()
		store.onSkeletonRead = func(i int) {
			if i == 0 {
				store.claim(t, "Meanwhile")
				time.Sleep(3 * fullReadOverlap)
			}
		}
		store.mu.Unlock()
		registry.views[game].fill()
		advance(3*fullReadOverlap + buildInterval)
		if registry.rebuildCount(causeFull) != 1 {
			t.Fatal("no view was built")
		}
		registry.expectKnown("Meanwhile", true)
	})
}

// If a build fails, the active view stays, and the build is repeated.
func TestAFailedBuildIsRetried(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		store.claimMany(t, 0, smallFilterNames/2)
		registry, end := store.startRegistry(t, useSmallFilter)
		defer end()
		former := registry.views[game].active.Load()
		store.mu.Lock()
		store.failSkeletons = true
		builds := store.skeletonReads
		store.mu.Unlock()
		registry.views[game].fill()
		advance(3 * buildInterval)
		if tries := store.countSkeletonReads() - builds; tries < 3 || tries > 4 {
			t.Errorf("%d tries", tries)
		}
		if view := registry.views[game]; view.active.Load() != former || view.building != nil {
			t.Error("the view changed although the build failed")
		}
		store.mu.Lock()
		store.failSkeletons = false
		store.mu.Unlock()
		advance(buildInterval + readInterval)
		if registry.rebuildCount(causeFull) != 1 || registry.views[game].active.Load() == former {
			t.Error("no new view was built after names could be read again")
		}
		registry.expectNames(0, smallFilterNames/2)
	})
}

// countSkeletonReads returns how often all names of the game were read.
func (s *fakeStore) countSkeletonReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skeletonReads
}

func TestFilterCapacityLeavesAFifthFree(t *testing.T) {
	t.Parallel()
	for names, want := range map[int64]int{
		0: 64, 51: 64, 52: 64, 53: 128, 104: 256, 1 << 40: nickname.MaxFilterCapacity,
	} {
		if got := filterCapacity(names, 64); got != want {
			t.Errorf("%d names: sized for %d, want %d", names, got, want)
		}
	}
}

// Lookups in a view are counted by whether the view was right.
func TestLookupsAreCountedByResult(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		registry, end := store.startRegistry(t, nil)
		defer end()
		view := registry.views[game]
		testenv.Need(registry.Available(t.Context(), game, "Grace", Requester{}))(t) // absent
		store.claim(t, "Late")
		if _, err := registry.Guest(t.Context(), guestRequest("Late")); err == nil { // and three suggestions, absent
			t.Error("a guest got a taken name")
		}
		view.add(testenv.Need(nickname.Parse("Wrong"))(t).Skeleton)
		testenv.Need(registry.Available(t.Context(), game, "Wrong", Requester{}))(t) // false positive
		store.claim(t, "Taken")
		advance(time.Second)
		testenv.Need(registry.Available(t.Context(), game, "Taken", Requester{}))(t) // taken, and three suggestions
		testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)            // absent
		testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)            // the device is known
		for result, want := range map[lookupResult]int64{lookupUnready: 0, lookupAbsent: 8, lookupLate: 1, lookupTaken: 1, lookupFalsePositive: 1} {
			if got := view.lookups[result].Load(); got != want {
				t.Errorf("%v: %d, want %d", result, got, want)
			}
		}
		if got := view.falsePositiveRatio(); got != 1.0/9 {
			t.Errorf("measured rate %v", got)
		}
		synctest.Wait()
	})
}

// After the ledger went back, the view is built again.
func TestViewsAreBuiltAgainAfterTheLedgerWentBack(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		store.claimMany(t, 0, 3)
		registry, end := store.startRegistry(t, useSmallFilter)
		defer end()
		registry.LedgerWentBack(0)
		advance(buildInterval)
		if registry.rebuildCount(causeWentBack) != 1 {
			t.Error("the view was not built again")
		}
		registry.expectNames(0, 3)
	})
}
