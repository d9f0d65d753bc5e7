package eventq

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestOwnersStayWhenAnotherGoes(t *testing.T) {
	t.Parallel()
	all := []string{"n1", "n2", "n3", "n4"}
	share := map[string]int{}
	for p := range 64 {
		was := owner(all, p)
		share[was]++
		for _, gone := range all {
			left := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == gone })
			if now := owner(left, p); was != gone && now != was {
				t.Errorf("partition %d moves from %s to %s as %s goes", p, was, now, gone)
			}
		}
	}
	for _, node := range all {
		if share[node] < 4 {
			t.Errorf("%s has %d of 64", node, share[node])
		}
	}
}

func TestNodesShareAndTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := numbered(20)
		w := newCluster(t, all...)
		a, b := w.start("a"), w.start("b")
		time.Sleep(2 * time.Second)
		for _, p := range a.partitions {
			if a.members.owns(p) == b.members.owns(b.partitions[p.index]) {
				t.Errorf("partition %d has not one owner", p.index)
			}
		}
		for _, policy := range all {
			a.offer(policy.Game, 0, 5)
		}
		time.Sleep(2 * time.Second)
		a.stop() // says goodbye
		for _, policy := range all {
			b.offer(policy.Game, 5, 5)
		}
		time.Sleep(3 * time.Second)
		b.stop()
		for _, policy := range all {
			w.want(policy.Game, Counts{Offered: 10, Sent: 10})
		}
	})
}

// After an outage of the store, the first heartbeat finds no other live nodes. This
// node must not take over their partitions, because they come back in a moment.
func TestNoTakeoverWhileTheStoreRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := numbered(20)
		w := newCluster(t, all...)
		a := w.start("a")
		defer a.stop()
		time.Sleep(heartbeatInterval / 2) // the heartbeats of a come first
		b := w.start("b")
		time.Sleep(10 * heartbeatInterval)
		owned := a.owned()
		w.set(func() { w.fault = func(string, string) error { return errStore } })
		time.Sleep(2 * NodeTTLMS * time.Millisecond)
		w.set(func() { w.fault = nil })
		time.Sleep(3 * heartbeatInterval / 4)
		if now := a.owned(); !slices.Equal(now, owned) {
			t.Errorf("%d partitions at once, %d before", len(now), len(owned))
		}
		b.stop() // for good
		time.Sleep(3 * NodeTTLMS * time.Millisecond)
		if now := a.owned(); len(now) != partitions {
			t.Errorf("%d partitions of %d at last", len(now), partitions)
		}
	})
}

func TestBatchOfALostNodeIsCountedAndOthersGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		taken, err := w.Push(t.Context(), w.policies[0], Push{ID: "p", Items: []Item{{ID: "x", At: w.now(), QueuedAt: w.now()}}, Now: w.now()})
		if err != nil || taken.Queued != 1 {
			t.Fatal(taken, err)
		}
		w.Take(t.Context(), w.policies[0], Take{Batch: "lost", Messages: 1, Now: w.now(), Lease: lease.Milliseconds()})
		w.Heartbeat(t.Context(), "dead", w.now())
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 1)
		time.Sleep(6 * time.Second)
		w.want("a", Counts{Offered: 2, Sent: 1, InFlight: 1})
		time.Sleep(20 * time.Second)
		w.want("a", Counts{Offered: 2, Sent: 1, Dropped: map[Reason]int64{NodeLost: 1}})
	})
}

func TestIdleNodeOnlyLooksForDueGames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []Policy
		for i := range 50 {
			all = append(all, policyOf(fmt.Sprint("g", i)))
		}
		all[0].Hot = true
		w := newCluster(t, all...)
		n := w.start("n")
		defer n.stop()
		n.offer("g0", 0, 1) // so that its reporter is there
		time.Sleep(2 * time.Minute)
		w.set(func() { clear(w.calls) })
		time.Sleep(time.Minute)
		w.set(func() {
			if due := w.calls["due"]; due > partitions*5*60+2*partitions || due < partitions*4*60 {
				t.Errorf("%d polls in a minute", due)
			}
			if w.calls["take"]+w.calls["push"]+w.calls["finish"] > 0 || w.calls["maintain"] > 2*len(all) {
				t.Errorf("calls: %v", w.calls)
			}
		})
	})
}

// The service polls only partitions with games. A round of the maintenance looks at the
// others.
func TestPartitionsWithoutGamesAreNotPolled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.start("n")
		defer n.stop()
		time.Sleep(2 * time.Second)
		w.set(func() { clear(w.calls) })
		time.Sleep(10 * time.Second)
		w.set(func() {
			if polls, most := w.calls["due"], int(10*time.Second/pollInterval); polls > most+1+partitions {
				t.Errorf("%d polls of one partition with a game, want %d", polls, most)
			}
		})
	})
}

// A dead node whose clock was ahead is found at once, and not when its time comes.
func TestNodesByWhenTheyWereSeen(t *testing.T) {
	t.Parallel()
	const now, hour = 1_795_212_345_678, 3_600_000
	seen := map[string]int64{
		"seen": now - NodeTTLMS, "of a clock a little ahead": now + NodeTTLMS, "former": now - NodeTTLMS - 1,
		"dead": now - deadAfterMS, "of the future": now + hour, "not dead yet": now - deadAfterMS + 1,
	}
	for name, c := range map[string]struct {
		contact     int64
		alive, dead []string
	}{
		"just now":    {0, []string{"former", "of a clock a little ahead", "seen"}, nil},
		"for a while": {NodeTTLMS, []string{"of a clock a little ahead", "seen"}, nil},
		"for long":    {deadAfterMS, []string{"of a clock a little ahead", "seen"}, []string{"dead", "of the future"}},
	} {
		m := &membership{contact: contact{since: now - c.contact}}
		v := m.newView(seen, &view{alive: []string{"former"}}, now)
		if dead := slices.Sorted(maps.Keys(v.dead)); !slices.Equal(v.alive, c.alive) || !slices.Equal(dead, c.dead) {
			t.Errorf("in contact %s: alive %q, dead %q", name, v.alive, dead)
		}
	}
}
