package identity

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

// startedRegistry is a running registry in virtual time.
type startedRegistry struct {
	*Registry
	t *testing.T
}

// withFakeTime runs a test in virtual time with an empty store.
func withFakeTime(t *testing.T, test func(t *testing.T, store *fakeStore)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // so that tests can claim names at an earlier time
		test(t, newStore())
	})
}

// startRegistry runs a registry on the store; end stops it and waits for it.
func (s *fakeStore) startRegistry(t *testing.T, change func(*Config)) (registry *startedRegistry, end func()) {
	t.Helper()
	config := newTestConfig(t, s, openTestTokens(t, s, nil))
	if change != nil {
		change(&config)
	}
	registry = &startedRegistry{Open(config), t}
	end = testenv.Run(t, registry.Run)
	synctest.Wait()
	return registry, end
}

// mayExist reports whether a name may be in the view. It returns true while no view is loaded.
func (r *startedRegistry) mayExist(request string) bool {
	return r.views[game].mayExist(testenv.Need(nickname.Parse(request))(r.t))
}

// expectKnown checks whether the view knows a name.
func (r *startedRegistry) expectKnown(request string, known bool) {
	r.t.Helper()
	if got := r.mayExist(request); got != known {
		r.t.Errorf("%s is known: %v, want %v", request, got, known)
	}
}

// claimLate stores a name that is committed only now, although it was claimed earlier, by ago.
func (s *fakeStore) claimLate(t *testing.T, request string, ago time.Duration) {
	t.Helper()
	s.claim(t, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namedAt[[2]string{game, testenv.Need(nickname.Parse(request))(t).Skeleton}] -= ago.Milliseconds()
}

func TestNamesReachAllNodesWithinASecond(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		nodeA, stopA := store.startRegistry(t, nil)
		defer stopA()
		time.Sleep(123 * time.Millisecond)
		nodeB, stopB := store.startRegistry(t, nil)
		defer stopB()
		for i := range 20 {
			name := fmt.Sprint("Ada", i)
			request := guestRequest(name)
			request.Device += fmt.Sprint("-", i)
			testenv.Need(nodeA.Guest(t.Context(), request))(t)
			nodeA.expectKnown(name, true)
			nodeB.expectKnown(name, false)
			time.Sleep(time.Second)
			synctest.Wait()
			nodeB.expectKnown(name, true)
		}
		nodeB.expectKnown("Grace", false)
	})
}

func TestLookupsAskTheLedgerUntilNamesAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		registry, end := store.startRegistry(t, func(*Config) { store.setDown(true) })
		defer end()
		advance(time.Minute)
		registry.expectKnown("Grace", true) // unknown: the view is not loaded
		store.setDown(false)
		advance(readInterval)
		advance(readInterval)
		registry.expectKnown("Grace", false)
		if got := testutil.ToFloat64(registry.replicator.metrics.failures); got != time.Minute.Seconds()/readInterval.Seconds()+1 {
			t.Errorf("%v failures", got)
		}
	})
}

// A name is claimed at another node while this node cannot reach the ledger. The view knows
// the name after the first read that succeeds.
func TestNamesClaimedDuringAnOutageAreReadAfterwards(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		registry, end := store.startRegistry(t, nil)
		defer end()
		store.setDown(true)
		advance(5 * time.Second)
		store.claim(t, "Ada")
		advance(time.Hour)
		registry.expectKnown("Ada", false)
		if got := registry.replicator.timeSinceRead(); got < time.Hour {
			t.Errorf("read %v ago", got)
		}
		store.setDown(false)
		advance(readInterval)
		registry.expectKnown("Ada", true)
		if got := registry.replicator.timeSinceRead(); got > readInterval {
			t.Errorf("read %v ago", got)
		}
	})
}

// Names may commit in another order than that in which they were claimed. A reader finds an
// older name although it has read later ones. It finds the name at its next read if the commit
// took up to 1 s, and within 20 s if the commit took up to a minute. All but the complete reads
// go back by 1 s only.
func TestNamesCommittedOutOfOrderAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		registry, end := store.startRegistry(t, nil)
		defer end()
		advance(fullReadInterval / 2)
		store.claim(t, "Later")
		advance(readInterval)
		registry.expectKnown("Later", true)
		store.claimLate(t, "Soon", readOverlap-readInterval)
		store.claimLate(t, "Slow", time.Minute-time.Second)
		advance(readInterval)
		registry.expectKnown("Soon", true)
		registry.expectKnown("Slow", false)
		advance(fullReadInterval / 2)
		registry.expectKnown("Slow", true)
		store.mu.Lock()
		defer store.mu.Unlock()
		fullReads := 0
		for _, since := range store.readsFrom {
			if since < store.clock()-(fullReadOverlap/2).Milliseconds() {
				fullReads++
			}
		}
		if fullReads > 3 {
			t.Errorf("%d of %d reads went back a minute", fullReads, len(store.readsFrom))
		}
	})
}

// A name whose commit took a minute is found, whenever it commits between two complete reads:
// each goes back to a minute before the previous one.
func TestNamesCommittedAMinuteLateAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		registry, end := store.startRegistry(t, nil)
		defer end()
		for i := range 50 {
			store.claim(t, fmt.Sprint("Later", i))
			advance(1300 * time.Millisecond)
			store.claimLate(t, fmt.Sprint("Slow", i), time.Minute)
		}
		advance(fullReadInterval + readInterval)
		for i := range 50 {
			registry.expectKnown(fmt.Sprint("Slow", i), true)
		}
	})
}

// Nodes use only the ledger's clock, which may differ from theirs by any offset.
func TestOnlyTheLedgersClockIsUsed(t *testing.T) {
	for _, offset := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		t.Run(offset.String(), func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, store *fakeStore) {
				store.clockOffset = offset
				registry, end := store.startRegistry(t, nil)
				defer end()
				store.claim(t, "Ada")
				advance(time.Second)
				registry.expectKnown("Ada", true)
			})
		})
	}
}

// If the ledger's clock is set back, new claims are known within 20 s.
func TestNamesAreReadAfterTheLedgersClockIsSetBack(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Second, 50 * time.Second, time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, store *fakeStore) {
				registry, end := store.startRegistry(t, nil)
				defer end()
				store.claim(t, "Before")
				advance(10 * time.Second)
				store.mu.Lock()
				store.clockOffset = -step
				store.mu.Unlock()
				store.claim(t, "After")
				store.claimLate(t, "Slow", fullReadOverlap/2)
				advance(fullReadInterval)
				for _, name := range []string{"Before", "After", "Slow"} {
					registry.expectKnown(name, true)
				}
				advance(time.Second)
				store.claim(t, "Soon")
				advance(time.Second)
				registry.expectKnown("Soon", true)
				advance(2 * time.Minute)
				store.claim(t, "Soon too")
				advance(time.Second)
				registry.expectKnown("Soon too", true)
				if got := registry.rebuildCount(causeClockSetBack); got != 0 && step <= fullReadOverlap || got != 1 && step > fullReadOverlap {
					t.Errorf("the view was rebuilt %v times", got)
				}
			})
		})
	}
}

func TestNamesAreReadAfterTheLedgersClockIsSetForward(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		registry, end := store.startRegistry(t, nil)
		defer end()
		advance(time.Second)
		store.mu.Lock()
		store.clockOffset = time.Hour
		store.mu.Unlock()
		for i := range 20 {
			store.claim(t, fmt.Sprint("Ada", i))
			advance(time.Second)
			registry.expectKnown(fmt.Sprint("Ada", i), true)
		}
		if got := registry.rebuildCount(causeClockSetBack); got != 0 {
			t.Errorf("the view was rebuilt %v times", got)
		}
	})
}

// rebuildCount returns how often the view of the game was built for a reason.
func (r *startedRegistry) rebuildCount(cause string) float64 {
	return testutil.ToFloat64(r.replicator.metrics.builds.WithLabelValues(game, cause))
}

// A rename at another node also adds a name. The former name is free, because the
// registry asks the ledger.
func TestRenamesAtAnotherNodeAreRead(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		nodeA, endA := store.startRegistry(t, nil)
		defer endA()
		nodeB, endB := store.startRegistry(t, nil)
		defer endB()
		claims := Claims{Subject: "operator:17", Game: game, Role: RolePlayer}
		testenv.Need(nodeA.Rename(t.Context(), claims, "Ada", Requester{}))(t)
		testenv.Need(nodeA.Rename(t.Context(), claims, "Grace", Requester{}))(t)
		store.freeName(t, "Ada")
		advance(time.Second)
		nodeB.expectKnown("Grace", true)
		if got := testenv.Need(nodeB.Available(t.Context(), game, "Ada", Requester{}))(t); !got.Available {
			t.Error("the former name is not free")
		}
	})
}

// freeName deletes a name, as a rename at another node does with the former name.
func (s *fakeStore) freeName(t *testing.T, request string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{game, testenv.Need(nickname.Parse(request))(t).Skeleton}
	delete(s.names, key)
	delete(s.namedAt, key)
}
