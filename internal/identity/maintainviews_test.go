package identity

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/nickname"
)

const few = 64 // names of a first filter in these tests

func small(c *Config) { c.firstNames = few }

// claimMany claims names with numbers in a range.
func (s *fakeStore) claimMany(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		s.claim(t, fmt.Sprint("Name", i))
	}
}

func (w *replication) expectMany(from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		w.expect(fmt.Sprint("Name", i), true)
	}
}

func TestAViewGrowsBesideTheOneThatServes(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		s.claimMany(t, 0, few/2)
		w, end := s.run(t, small)
		defer end()
		first := w.views[game].active.Load()
		if first.Cap() != few {
			t.Fatalf("sized for %d names, want %d", first.Cap(), few)
		}
		s.claimMany(t, few/2, few+few/8)
		arrived := 0
		s.mu.Lock()
		s.during = func(i int) { // names come while all are read
			if i >= few/4 {
				return
			}
			if w.views[game].active.Load() != first {
				t.Error("the new view is used before it has all names")
			}
			name := fmt.Sprint("Meanwhile", i)
			s.claim(t, name)
			w.views[game].add(must(nickname.Parse(name))(t))
			arrived++
		}
		s.mu.Unlock()
		pass(time.Second)
		s.mu.Lock()
		s.during = nil
		s.mu.Unlock()
		if got := w.views[game].active.Load(); got.Cap() != 2*few {
			t.Errorf("sized for %d names, want %d", got.Cap(), 2*few)
		}
		if w.built(reasonFull) != 1 || arrived != few/4 {
			t.Errorf("built %v times for being full, %d names meanwhile", w.built(reasonFull), arrived)
		}
		w.expectMany(0, few+few/8)
		for i := range arrived {
			w.expect(fmt.Sprint("Meanwhile", i), true)
		}
	})
}

// A player is renamed while the view reads all names, from a name not read yet to
// one before the cursor. The new view finds the new name among the recent names.
func TestNamesMovedMeanwhileAreInTheNewView(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		s.claimMany(t, 0, few/2)
		w, end := s.run(t, small)
		defer end()
		s.claim(t, "Moved")
		s.mu.Lock()
		s.late["moved"] = true // by the time that its page is read
		s.during = func(i int) {
			if i == 0 {
				w.replicator.notifyBuilder()
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.late, "moved")
			}
		}
		s.mu.Unlock()
		w.views[game].requestRebuild(reasonFull)
		pass(time.Second)
		if w.built(reasonFull) != 1 {
			t.Fatal("no view was built")
		}
		w.expect("Moved", true)
	})
}

// If a build fails, the active view stays, and the build is repeated.
func TestABuildThatFailsIsTriedAgain(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		s.claimMany(t, 0, few/2)
		w, end := s.run(t, small)
		defer end()
		first := w.views[game].active.Load()
		s.mu.Lock()
		s.unreadable = true
		builds := s.builds
		s.mu.Unlock()
		w.views[game].requestRebuild(reasonFull)
		pass(3 * buildAgainAfter)
		if tries := s.tried() - builds; tries < 3 || tries > 4 {
			t.Errorf("%d tries", tries)
		}
		if k := w.views[game]; k.active.Load() != first || k.next != nil {
			t.Error("the view changed although the build failed")
		}
		s.mu.Lock()
		s.unreadable = false
		s.mu.Unlock()
		pass(buildAgainAfter + readEvery)
		if w.built(reasonFull) != 1 || w.views[game].active.Load() == first {
			t.Error("no new view once names can be read")
		}
		w.expectMany(0, few/2)
	})
}

// tried returns how often all names of the game were read.
func (s *fakeStore) tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.builds
}

func TestStaleNamesAreCountedAndLeave(t *testing.T) {
	t.Parallel()
	const all = 3 * minStale
	s := newStore()
	s.claimMany(t, 0, all)
	r := registryOf(t, s)
	k := r.views[game]
	count := func(forgotten, upTo int) {
		t.Helper()
		for i := forgotten; i < upTo; i++ {
			s.forget(t, fmt.Sprint("Name", i))
		}
		r.replicator.countStale(t.Context())
		r.replicator.buildRequested(t.Context(), map[string]time.Time{})
	}
	count(0, minStale-1)
	if got := k.stale.Load(); got > minStale-1 || got < minStale-10 || s.tried() != 1 {
		t.Errorf("%d stale, read all names %d times", got, s.tried())
	}
	count(minStale-1, minStale+10)
	if got := k.stale.Load(); got != 0 || s.tried() != 2 {
		t.Errorf("%d stale, read all names %d times", got, s.tried())
	}
	if got := k.active.Load().Len(); got > all-minStale-10 {
		t.Errorf("%d names in the view", got)
	}
	for i := minStale + 10; i < all; i++ {
		if !k.mayExist(must(nickname.Parse(fmt.Sprint("Name", i)))(t)) {
			t.Errorf("name %d is lost", i)
		}
	}
}

func TestSizeFor(t *testing.T) {
	t.Parallel()
	for names, want := range map[int64]int{
		0: 64, 51: 64, 52: 64, 53: 128, 104: 256, 1 << 40: nickname.MaxFilter,
	} {
		if got := sizeFor(names, 64); got != want {
			t.Errorf("%d names: sized for %d, want %d", names, got, want)
		}
	}
}

// Lookups in a view are counted by whether the view was right.
func TestAnswersAreCounted(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		w, end := s.run(t, nil)
		defer end()
		k := w.views[game]
		must(w.Available(t.Context(), game, "Grace", Requester{}))(t) // absent
		s.claim(t, "Late")
		if _, err := w.Guest(t.Context(), ask("Late")); err == nil { // and three suggestions, absent
			t.Error("a guest got a taken name")
		}
		k.add(must(nickname.Parse("Wrong"))(t))
		must(w.Available(t.Context(), game, "Wrong", Requester{}))(t) // mistaken
		s.claim(t, "Taken")
		pass(time.Second)
		must(w.Available(t.Context(), game, "Taken", Requester{}))(t) // taken, and three suggestions
		must(w.Guest(t.Context(), ask("Ada")))(t)                     // absent
		must(w.Guest(t.Context(), ask("Ada")))(t)                     // the device is known
		for a, want := range map[lookupResult]int64{unready: 0, notIn: 8, late: 1, taken: 1, mistaken: 1} {
			if got := k.lookups[a].Load(); got != want {
				t.Errorf("%v: %d, want %d", a, got, want)
			}
		}
		if got := k.falsePositiveRatio(); got != 1.0/9 {
			t.Errorf("measured rate %v", got)
		}
		synctest.Wait()
	})
}
