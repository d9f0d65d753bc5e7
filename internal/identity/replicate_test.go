package identity

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/nickname"
)

// replication is a registry in virtual time. Tests also claim names directly in
// its store.
type replication struct {
	*Registry
	t *testing.T
}

// withFakeTime runs a test in virtual time. The store is idle at first.
func withFakeTime(t *testing.T, test func(t *testing.T, s *fakeStore)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // so that an instant may be before the first
		test(t, newStore())
	})
}

// run starts a registry on the store; end ends it and waits for it.
func (s *fakeStore) run(t *testing.T, change func(*Config)) (w *replication, end func()) {
	t.Helper()
	c := configOf(s, tokensOf(t, s, nil))
	if change != nil {
		change(&c)
	}
	w = &replication{Open(c), t}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }() // waited for by end
	synctest.Wait()
	return w, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// mayExist reports whether a name may be in the view, also if none is loaded yet.
func (w *replication) mayExist(request string) bool {
	return w.views[game].mayExist(must(nickname.Parse(request))(w.t))
}

func (w *replication) expect(request string, known bool) {
	w.t.Helper()
	if got := w.mayExist(request); got != known {
		w.t.Errorf("%s is known: %v, want %v", request, got, known)
	}
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// claimAt stores a name with an instant that long ago, committed now.
func (s *fakeStore) claimAt(t *testing.T, request string, ago time.Duration) {
	t.Helper()
	s.claim(t, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named[[2]string{game, must(nickname.Parse(request))(t).Skeleton}] -= ago.Milliseconds()
}

func TestNamesReachAllNodesWithinASecond(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		a, endA := s.run(t, nil)
		defer endA()
		time.Sleep(123 * time.Millisecond)
		b, endB := s.run(t, nil)
		defer endB()
		for i := range 20 {
			name := fmt.Sprint("Ada", i)
			q := ask(name)
			q.Device += fmt.Sprint("-", i)
			must(a.Guest(t.Context(), q))(t)
			a.expect(name, true)
			b.expect(name, false)
			time.Sleep(time.Second)
			synctest.Wait()
			b.expect(name, true)
		}
		b.expect("Grace", false)
	})
}

func TestNamesAreAskedForUntilTheyAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		w, end := s.run(t, func(*Config) { s.setDown(true) })
		defer end()
		pass(time.Minute)
		w.expect("Grace", true) // unknown: the view is not loaded
		s.setDown(false)
		pass(readEvery)
		pass(readEvery)
		w.expect("Grace", false)
		if got := testutil.ToFloat64(w.replicator.metrics.failures); got != time.Minute.Seconds()/readEvery.Seconds()+1 {
			t.Errorf("%v failures", got)
		}
	})
}

// While the ledger is unreachable, a name is claimed elsewhere. The view knows it
// soon after.
func TestAnOutageIsMadeUpFor(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		w, end := s.run(t, nil)
		defer end()
		s.setDown(true)
		pass(5 * time.Second)
		s.claim(t, "Ada")
		pass(time.Hour)
		w.expect("Ada", false)
		if got := w.replicator.age(); got < time.Hour {
			t.Errorf("read %v ago", got)
		}
		s.setDown(false)
		pass(readEvery)
		w.expect("Ada", true)
		if got := w.replicator.age(); got > readEvery {
			t.Errorf("read %v ago", got)
		}
	})
}

// Names commit in an order other than that of their instants. A reader finds an
// older name though it has read later ones. It finds it at once if the commit took
// up to 1 s, and within 20 s if it took up to a minute. Other reads go back by 1 s
// only.
func TestNamesCommittedOutOfOrder(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		w, end := s.run(t, nil)
		defer end()
		pass(fullReadEvery / 2)
		s.claim(t, "Later")
		pass(readEvery)
		w.expect("Later", true)
		s.claimAt(t, "Soon", readOverlap-readEvery)
		s.claimAt(t, "Slow", fullReadOverlap-time.Second)
		pass(readEvery)
		w.expect("Soon", true)
		w.expect("Slow", false)
		pass(fullReadEvery / 2)
		w.expect("Slow", true)
		s.mu.Lock()
		defer s.mu.Unlock()
		whole := 0
		for _, since := range s.reads {
			if since < s.clock()-(fullReadOverlap/2).Milliseconds() {
				whole++
			}
		}
		if whole > 3 {
			t.Errorf("%d of %d readings went back a minute", whole, len(s.reads))
		}
	})
}

// A slow name is found at any time of the complete reads: each goes back a minute
// before the previous one.
func TestSlowNamesAreFoundWheneverTheyCommit(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		w, end := s.run(t, nil)
		defer end()
		for i := range 50 {
			s.claim(t, fmt.Sprint("Later", i))
			pass(1300 * time.Millisecond)
			s.claimAt(t, fmt.Sprint("Slow", i), fullReadOverlap)
		}
		pass(fullReadEvery + readEvery)
		for i := range 50 {
			w.expect(fmt.Sprint("Slow", i), true)
		}
	})
}

// Only the ledger's clock counts, whatever its offset from a node's. If it is set
// back, new claims are known within 20 s.
func TestTheLedgersClockDecides(t *testing.T) {
	for _, off := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, s *fakeStore) {
				s.off = off
				w, end := s.run(t, nil)
				defer end()
				s.claim(t, "Ada")
				pass(time.Second)
				w.expect("Ada", true)
			})
		})
	}
}

func TestTheLedgersClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{5 * time.Second, 50 * time.Second, time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, s *fakeStore) {
				w, end := s.run(t, nil)
				defer end()
				s.claim(t, "Before")
				pass(10 * time.Second)
				s.mu.Lock()
				s.off = -back
				s.mu.Unlock()
				s.claim(t, "After")
				s.claimAt(t, "Slow", fullReadOverlap/2)
				pass(fullReadEvery)
				for _, name := range []string{"Before", "After", "Slow"} {
					w.expect(name, true)
				}
				pass(time.Second)
				s.claim(t, "Soon")
				pass(time.Second)
				w.expect("Soon", true)
				pass(2 * time.Minute)
				s.claim(t, "Soon too")
				pass(time.Second)
				w.expect("Soon too", true)
				if got := w.built(reasonClock); got != 0 && back <= fullReadOverlap || got != 1 && back > fullReadOverlap {
					t.Errorf("built anew %v times", got)
				}
			})
		})
	}
}

func TestTheLedgersClockIsPutForward(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		w, end := s.run(t, nil)
		defer end()
		pass(time.Second)
		s.mu.Lock()
		s.off = time.Hour
		s.mu.Unlock()
		for i := range 20 {
			s.claim(t, fmt.Sprint("Ada", i))
			pass(time.Second)
			w.expect(fmt.Sprint("Ada", i), true)
		}
		if got := w.built(reasonClock); got != 0 {
			t.Errorf("built anew %v times", got)
		}
	})
}

// built returns how often the view of the game was built for a reason.
func (w *replication) built(why reason) float64 {
	return testutil.ToFloat64(w.replicator.metrics.rebuilds.WithLabelValues(game, string(why)))
}

// A rename at another node also adds a name. The former name is free, because the
// registry asks the ledger.
func TestRenamesAreFollowed(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		a, endA := s.run(t, nil)
		defer endA()
		b, endB := s.run(t, nil)
		defer endB()
		c := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
		must(a.Rename(t.Context(), c, "Ada", Requester{}))(t)
		must(a.Rename(t.Context(), c, "Grace", Requester{}))(t)
		s.forget(t, "Ada")
		pass(time.Second)
		b.expect("Grace", true)
		if got := must(b.Available(t.Context(), game, "Ada", Requester{}))(t); !got.Available {
			t.Error("the former name is not free")
		}
		if got := a.views[game].stale.Load(); got != 2 { // the generated one too
			t.Errorf("%d stale names at the node of the renames", got)
		}
	})
}

// forget frees a name.
func (s *fakeStore) forget(t *testing.T, request string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [2]string{game, must(nickname.Parse(request))(t).Skeleton}
	delete(s.names, at)
	delete(s.named, at)
}
