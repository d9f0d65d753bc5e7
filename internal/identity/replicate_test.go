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

// replication is a running registry in virtual time.
type replication struct {
	*Registry
	t *testing.T
}

// withFakeTime runs a test in virtual time with an empty store.
func withFakeTime(t *testing.T, test func(t *testing.T, s *fakeStore)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // so that tests can claim names at an earlier time
		test(t, newStore())
	})
}

// startRegistry runs a registry on the store; end stops it and waits for it.
func (s *fakeStore) startRegistry(t *testing.T, change func(*Config)) (r *replication, end func()) {
	t.Helper()
	c := newTestConfig(s, openTestTokens(t, s, nil))
	if change != nil {
		change(&c)
	}
	r = &replication{Open(c), t}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }() // waited for by end
	synctest.Wait()
	return r, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// mayExist reports whether a name may be in the view. It returns true while no view is loaded.
func (r *replication) mayExist(request string) bool {
	return r.views[game].mayExist(must(nickname.Parse(request))(r.t))
}

// expect checks whether the view knows a name.
func (r *replication) expect(request string, known bool) {
	r.t.Helper()
	if got := r.mayExist(request); got != known {
		r.t.Errorf("%s is known: %v, want %v", request, got, known)
	}
}

// must returns a function that fails the test if err is not nil, and else returns value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// claimAt stores a name that is committed only now, although it was claimed earlier, by ago.
func (s *fakeStore) claimAt(t *testing.T, request string, ago time.Duration) {
	t.Helper()
	s.claim(t, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namedAt[[2]string{game, must(nickname.Parse(request))(t).Skeleton}] -= ago.Milliseconds()
}

func TestNamesReachAllNodesWithinASecond(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		a, endA := s.startRegistry(t, nil)
		defer endA()
		time.Sleep(123 * time.Millisecond)
		b, endB := s.startRegistry(t, nil)
		defer endB()
		for i := range 20 {
			name := fmt.Sprint("Ada", i)
			q := guestRequest(name)
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

func TestLookupsAskTheLedgerUntilNamesAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		r, end := s.startRegistry(t, func(*Config) { s.setDown(true) })
		defer end()
		advance(time.Minute)
		r.expect("Grace", true) // unknown: the view is not loaded
		s.setDown(false)
		advance(readInterval)
		advance(readInterval)
		r.expect("Grace", false)
		if got := testutil.ToFloat64(r.replicator.metrics.failures); got != time.Minute.Seconds()/readInterval.Seconds()+1 {
			t.Errorf("%v failures", got)
		}
	})
}

// A name is claimed at another node while this node cannot reach the ledger. The view knows
// the name after the first read that succeeds.
func TestNamesClaimedDuringAnOutageAreReadAfterwards(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		r, end := s.startRegistry(t, nil)
		defer end()
		s.setDown(true)
		advance(5 * time.Second)
		s.claim(t, "Ada")
		advance(time.Hour)
		r.expect("Ada", false)
		if got := r.replicator.timeSinceRead(); got < time.Hour {
			t.Errorf("read %v ago", got)
		}
		s.setDown(false)
		advance(readInterval)
		r.expect("Ada", true)
		if got := r.replicator.timeSinceRead(); got > readInterval {
			t.Errorf("read %v ago", got)
		}
	})
}

// Names may commit in another order than that in which they were claimed. A reader finds an
// older name although it has read later ones. It finds the name at its next read if the commit
// took up to 1 s, and within 20 s if the commit took up to a minute. All but the complete reads
// go back by 1 s only.
func TestNamesCommittedOutOfOrderAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		r, end := s.startRegistry(t, nil)
		defer end()
		advance(fullReadInterval / 2)
		s.claim(t, "Later")
		advance(readInterval)
		r.expect("Later", true)
		s.claimAt(t, "Soon", readOverlap-readInterval)
		s.claimAt(t, "Slow", fullReadOverlap-time.Second)
		advance(readInterval)
		r.expect("Soon", true)
		r.expect("Slow", false)
		advance(fullReadInterval / 2)
		r.expect("Slow", true)
		s.mu.Lock()
		defer s.mu.Unlock()
		fullReads := 0
		for _, since := range s.readsFrom {
			if since < s.clock()-(fullReadOverlap/2).Milliseconds() {
				fullReads++
			}
		}
		if fullReads > 3 {
			t.Errorf("%d of %d reads went back a minute", fullReads, len(s.readsFrom))
		}
	})
}

// A name whose commit took a minute is found, whenever it commits between two complete reads:
// each goes back to a minute before the previous one.
func TestNamesCommittedAMinuteLateAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		r, end := s.startRegistry(t, nil)
		defer end()
		for i := range 50 {
			s.claim(t, fmt.Sprint("Later", i))
			advance(1300 * time.Millisecond)
			s.claimAt(t, fmt.Sprint("Slow", i), fullReadOverlap)
		}
		advance(fullReadInterval + readInterval)
		for i := range 50 {
			r.expect(fmt.Sprint("Slow", i), true)
		}
	})
}

// Nodes use only the ledger's clock, which may differ from theirs by any offset.
func TestOnlyTheLedgersClockIsUsed(t *testing.T) {
	for _, off := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, s *fakeStore) {
				s.clockOffset = off
				r, end := s.startRegistry(t, nil)
				defer end()
				s.claim(t, "Ada")
				advance(time.Second)
				r.expect("Ada", true)
			})
		})
	}
}

// If the ledger's clock is set back, new claims are known within 20 s.
func TestNamesAreReadAfterTheLedgersClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{5 * time.Second, 50 * time.Second, time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, s *fakeStore) {
				r, end := s.startRegistry(t, nil)
				defer end()
				s.claim(t, "Before")
				advance(10 * time.Second)
				s.mu.Lock()
				s.clockOffset = -back
				s.mu.Unlock()
				s.claim(t, "After")
				s.claimAt(t, "Slow", fullReadOverlap/2)
				advance(fullReadInterval)
				for _, name := range []string{"Before", "After", "Slow"} {
					r.expect(name, true)
				}
				advance(time.Second)
				s.claim(t, "Soon")
				advance(time.Second)
				r.expect("Soon", true)
				advance(2 * time.Minute)
				s.claim(t, "Soon too")
				advance(time.Second)
				r.expect("Soon too", true)
				if got := r.rebuildCount(causeClockSetBack); got != 0 && back <= fullReadOverlap || got != 1 && back > fullReadOverlap {
					t.Errorf("the view was rebuilt %v times", got)
				}
			})
		})
	}
}

func TestNamesAreReadAfterTheLedgersClockIsSetForward(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		r, end := s.startRegistry(t, nil)
		defer end()
		advance(time.Second)
		s.mu.Lock()
		s.clockOffset = time.Hour
		s.mu.Unlock()
		for i := range 20 {
			s.claim(t, fmt.Sprint("Ada", i))
			advance(time.Second)
			r.expect(fmt.Sprint("Ada", i), true)
		}
		if got := r.rebuildCount(causeClockSetBack); got != 0 {
			t.Errorf("the view was rebuilt %v times", got)
		}
	})
}

// rebuildCount returns how often the view of the game was built for a reason.
func (r *replication) rebuildCount(cause rebuildCause) float64 {
	return testutil.ToFloat64(r.replicator.metrics.rebuilds.WithLabelValues(game, string(cause)))
}

// A rename at another node also adds a name. The former name is free, because the
// registry asks the ledger.
func TestRenamesAtAnotherNodeAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		a, endA := s.startRegistry(t, nil)
		defer endA()
		b, endB := s.startRegistry(t, nil)
		defer endB()
		c := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
		must(a.Rename(t.Context(), c, "Ada", Requester{}))(t)
		must(a.Rename(t.Context(), c, "Grace", Requester{}))(t)
		s.freeName(t, "Ada")
		advance(time.Second)
		b.expect("Grace", true)
		if got := must(b.Available(t.Context(), game, "Ada", Requester{}))(t); !got.Available {
			t.Error("the former name is not free")
		}
		if got := a.views[game].staleNames.Load(); got != 2 { // Ada, and the generated name before it
			t.Errorf("%d stale names at the node of the renames", got)
		}
	})
}

// freeName deletes a name, as a rename at another node does with the former name.
func (s *fakeStore) freeName(t *testing.T, request string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [2]string{game, must(nickname.Parse(request))(t).Skeleton}
	delete(s.names, at)
	delete(s.namedAt, at)
}
