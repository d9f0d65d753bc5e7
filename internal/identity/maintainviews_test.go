package identity

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/nickname"
)

const smallFilterNames = 64 // capacity of the first filter in these tests

func useSmallFilter(c *Config) { c.initialFilterNames = smallFilterNames }

// claimMany claims the names Name<from> to Name<to-1>.
func (s *fakeStore) claimMany(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		s.claim(t, fmt.Sprint("Name", i))
	}
}

// expectNames checks that the view knows the names Name<from> to Name<to-1>.
func (r *replication) expectNames(from, to int) {
	r.t.Helper()
	for i := from; i < to; i++ {
		r.expect(fmt.Sprint("Name", i), true)
	}
}

func TestALargerViewIsBuiltWhileTheFormerOneIsUsed(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		s.claimMany(t, 0, smallFilterNames/2)
		r, end := s.startRegistry(t, useSmallFilter)
		defer end()
		first := r.views[game].active.Load()
		if first.Cap() != smallFilterNames {
			t.Fatalf("sized for %d names, want %d", first.Cap(), smallFilterNames)
		}
		s.claimMany(t, smallFilterNames/2, smallFilterNames+smallFilterNames/8)
		arrived := 0
		s.mu.Lock()
		s.onSkeletonRead = func(i int) { // names are claimed while the build reads all names
			if i >= smallFilterNames/4 {
				return
			}
			if r.views[game].active.Load() != first {
				t.Error("the new view is used before it has all names")
			}
			name := fmt.Sprint("Meanwhile", i)
			s.claim(t, name)
			r.views[game].add(must(nickname.Parse(name))(t))
			arrived++
		}
		s.mu.Unlock()
		advance(time.Second)
		s.mu.Lock()
		s.onSkeletonRead = nil
		s.mu.Unlock()
		if got := r.views[game].active.Load(); got.Cap() != 2*smallFilterNames {
			t.Errorf("sized for %d names, want %d", got.Cap(), 2*smallFilterNames)
		}
		if r.rebuildCount(causeFull) != 1 || arrived != smallFilterNames/4 {
			t.Errorf("built %v times because it was full, %d names claimed during the build", r.rebuildCount(causeFull), arrived)
		}
		r.expectNames(0, smallFilterNames+smallFilterNames/8)
		for i := range arrived {
			r.expect(fmt.Sprint("Meanwhile", i), true)
		}
	})
}

// A name is committed during the build, for example by a rename, after the build has read the
// page that it belongs to.
// The new view has the name, because it also reads the recent names.
func TestNamesRenamedDuringABuildAreInTheNewView(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		s.claimMany(t, 0, smallFilterNames/2)
		r, end := s.startRegistry(t, useSmallFilter)
		defer end()
		s.claim(t, "Moved")
		s.mu.Lock()
		s.uncommitted["moved"] = true // until the build has read its page
		s.onSkeletonRead = func(i int) {
			if i == 0 {
				r.replicator.notifyBuilder()
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.uncommitted, "moved")
			}
		}
		s.mu.Unlock()
		r.views[game].requestRebuild(causeFull)
		advance(time.Second)
		if r.rebuildCount(causeFull) != 1 {
			t.Fatal("no view was built")
		}
		r.expect("Moved", true)
	})
}

// If a build fails, the active view stays, and the build is repeated.
func TestAFailedBuildIsRetried(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		s.claimMany(t, 0, smallFilterNames/2)
		r, end := s.startRegistry(t, useSmallFilter)
		defer end()
		former := r.views[game].active.Load()
		s.mu.Lock()
		s.failSkeletons = true
		builds := s.skeletonReads
		s.mu.Unlock()
		r.views[game].requestRebuild(causeFull)
		advance(3 * buildRetryDelay)
		if tries := s.countSkeletonReads() - builds; tries < 3 || tries > 4 {
			t.Errorf("%d tries", tries)
		}
		if view := r.views[game]; view.active.Load() != former || view.building != nil {
			t.Error("the view changed although the build failed")
		}
		s.mu.Lock()
		s.failSkeletons = false
		s.mu.Unlock()
		advance(buildRetryDelay + readInterval)
		if r.rebuildCount(causeFull) != 1 || r.views[game].active.Load() == former {
			t.Error("no new view was built after names could be read again")
		}
		r.expectNames(0, smallFilterNames/2)
	})
}

// countSkeletonReads returns how often all names of the game were read.
func (s *fakeStore) countSkeletonReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skeletonReads
}

func TestTooManyStaleNamesCauseARebuild(t *testing.T) {
	t.Parallel()
	const names = 3 * minStaleNames
	s := newStore()
	s.claimMany(t, 0, names)
	r := newTestRegistry(t, s)
	view := r.views[game]
	count := func(forgotten, upTo int) {
		t.Helper()
		for i := forgotten; i < upTo; i++ {
			s.freeName(t, fmt.Sprint("Name", i))
		}
		r.replicator.countStaleNames(t.Context())
		r.replicator.buildRequestedViews(t.Context(), map[string]time.Time{})
	}
	count(0, minStaleNames-1)
	if got := view.staleNames.Load(); got > minStaleNames-1 || got < minStaleNames-10 || s.countSkeletonReads() != 1 {
		t.Errorf("%d stale, read all names %d times", got, s.countSkeletonReads())
	}
	count(minStaleNames-1, minStaleNames+10)
	if got := view.staleNames.Load(); got != 0 || s.countSkeletonReads() != 2 {
		t.Errorf("%d stale, read all names %d times", got, s.countSkeletonReads())
	}
	if got := view.active.Load().Len(); got > names-minStaleNames-10 {
		t.Errorf("%d names in the view", got)
	}
	for i := minStaleNames + 10; i < names; i++ {
		if !view.mayExist(must(nickname.Parse(fmt.Sprint("Name", i)))(t)) {
			t.Errorf("the view does not know name %d", i)
		}
	}
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
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		r, end := s.startRegistry(t, nil)
		defer end()
		view := r.views[game]
		must(r.Available(t.Context(), game, "Grace", Requester{}))(t) // absent
		s.claim(t, "Late")
		if _, err := r.Guest(t.Context(), guestRequest("Late")); err == nil { // and three suggestions, absent
			t.Error("a guest got a taken name")
		}
		view.add(must(nickname.Parse("Wrong"))(t))
		must(r.Available(t.Context(), game, "Wrong", Requester{}))(t) // false positive
		s.claim(t, "Taken")
		advance(time.Second)
		must(r.Available(t.Context(), game, "Taken", Requester{}))(t) // taken, and three suggestions
		must(r.Guest(t.Context(), guestRequest("Ada")))(t)            // absent
		must(r.Guest(t.Context(), guestRequest("Ada")))(t)            // the device is known
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
