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

// claimMany claims names from one to another number.
func (s *store) claimMany(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		s.claim(t, fmt.Sprint("Name", i))
	}
}

func (w *world) expectMany(from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		w.expect(fmt.Sprint("Name", i), true)
	}
}

func TestAViewGrowsBesideTheOneThatServes(t *testing.T) {
	inTime(t, func(t *testing.T, s *store) {
		s.claimMany(t, 0, few/2)
		w, end := s.run(t, small)
		defer end()
		first := w.known[game].serving.Load()
		if first.Cap() != few {
			t.Fatalf("made for %d names, want %d", first.Cap(), few)
		}
		s.claimMany(t, few/2, few+few/8)
		arrived := 0
		s.mu.Lock()
		s.during = func(i int) { // names come while all are read
			if i >= few/4 {
				return
			}
			if w.known[game].serving.Load() != first {
				t.Error("the new view serves before it has all names")
			}
			name := fmt.Sprint("Meanwhile", i)
			s.claim(t, name)
			w.known[game].add(must(nickname.Parse(name))(t))
			arrived++
		}
		s.mu.Unlock()
		pass(time.Second)
		s.mu.Lock()
		s.during = nil
		s.mu.Unlock()
		if got := w.known[game].serving.Load(); got.Cap() != 2*few {
			t.Errorf("made for %d names, want %d", got.Cap(), 2*few)
		}
		if w.built(bySize) != 1 || arrived != few/4 {
			t.Errorf("built %v times for being full, %d names meanwhile", w.built(bySize), arrived)
		}
		w.expectMany(0, few+few/8)
		for i := range arrived {
			w.expect(fmt.Sprint("Meanwhile", i), true)
		}
	})
}

// A name that is renamed, while all are read, from one that is still to come to
// one that was, is in the new view by way of the names of late.
func TestNamesMovedMeanwhileAreInTheNewView(t *testing.T) {
	inTime(t, func(t *testing.T, s *store) {
		s.claimMany(t, 0, few/2)
		w, end := s.run(t, small)
		defer end()
		s.claim(t, "Moved")
		s.mu.Lock()
		s.late["moved"] = true // by the time that its page is read
		s.during = func(i int) {
			if i == 0 {
				w.follower.signal()
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.late, "moved")
			}
		}
		s.mu.Unlock()
		w.known[game].order(bySize)
		pass(time.Second)
		if w.built(bySize) != 1 {
			t.Fatal("no view was built")
		}
		w.expect("Moved", true)
	})
}

// A build that fails leaves the view that serves, and is tried again.
func TestABuildThatFailsIsTriedAgain(t *testing.T) {
	inTime(t, func(t *testing.T, s *store) {
		s.claimMany(t, 0, few/2)
		w, end := s.run(t, small)
		defer end()
		first := w.known[game].serving.Load()
		s.mu.Lock()
		s.unreadable = true
		builds := s.builds
		s.mu.Unlock()
		w.known[game].order(bySize)
		pass(3 * buildAgainAfter)
		if tries := s.tried() - builds; tries < 3 || tries > 4 {
			t.Errorf("%d tries", tries)
		}
		if k := w.known[game]; k.serving.Load() != first || k.next != nil {
			t.Error("a view that was not built is there")
		}
		s.mu.Lock()
		s.unreadable = false
		s.mu.Unlock()
		pass(buildAgainAfter + followEvery)
		if w.built(bySize) != 1 || w.known[game].serving.Load() == first {
			t.Error("no new view once names can be read")
		}
		w.expectMany(0, few/2)
	})
}

// tried is how often all names of the game were read.
func (s *store) tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.builds
}

func TestStaleNamesAreCountedAndLeave(t *testing.T) {
	t.Parallel()
	const all = 3 * staleLeast
	s := newStore()
	s.claimMany(t, 0, all)
	r := registryOf(t, s)
	k := r.known[game]
	count := func(forgotten, upTo int) {
		t.Helper()
		for i := forgotten; i < upTo; i++ {
			s.forget(t, fmt.Sprint("Name", i))
		}
		r.follower.countStale(t.Context())
		r.follower.buildOrdered(t.Context(), map[string]time.Time{})
	}
	count(0, staleLeast-1)
	if got := k.stale.Load(); got > staleLeast-1 || got < staleLeast-10 || s.tried() != 1 {
		t.Errorf("%d stale, read all names %d times", got, s.tried())
	}
	count(staleLeast-1, staleLeast+10)
	if got := k.stale.Load(); got != 0 || s.tried() != 2 {
		t.Errorf("%d stale, read all names %d times", got, s.tried())
	}
	if got := k.serving.Load().Len(); got > all-staleLeast-10 {
		t.Errorf("%d names in the view", got)
	}
	for i := staleLeast + 10; i < all; i++ {
		if !k.has(must(nickname.Parse(fmt.Sprint("Name", i)))(t)) {
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
			t.Errorf("%d names: made for %d, want %d", names, got, want)
		}
	}
}

// What a view says is counted by whether it was right.
func TestAnswersAreCounted(t *testing.T) {
	inTime(t, func(t *testing.T, s *store) {
		w, end := s.run(t, nil)
		defer end()
		k := w.known[game]
		must(w.Available(t.Context(), game, "Grace", Asker{}))(t) // absent
		s.claim(t, "Late")
		if _, err := w.Guest(t.Context(), ask("Late")); err == nil { // and three suggestions, absent
			t.Error("a taken name was given out")
		}
		k.add(must(nickname.Parse("Wrong"))(t))
		must(w.Available(t.Context(), game, "Wrong", Asker{}))(t) // mistaken
		s.claim(t, "Taken")
		pass(time.Second)
		must(w.Available(t.Context(), game, "Taken", Asker{}))(t) // taken, and three suggestions
		must(w.Guest(t.Context(), ask("Ada")))(t)                 // absent
		must(w.Guest(t.Context(), ask("Ada")))(t)                 // the device is known
		for a, want := range map[answer]int64{unready: 0, notIn: 8, late: 1, taken: 1, mistaken: 1} {
			if got := k.answers[a].Load(); got != want {
				t.Errorf("%v: %d, want %d", a, got, want)
			}
		}
		if got := k.measured(); got != 1.0/9 {
			t.Errorf("measured rate %v", got)
		}
		synctest.Wait()
	})
}
