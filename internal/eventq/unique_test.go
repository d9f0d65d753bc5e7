package eventq

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// offerMixed offers behaviours in alternating runs of unique and other items. The
// latter are named by their device.
func (n *node) offerMixed(count, run int) {
	for i := range count {
		b := Behaviour{ID: id(i), Type: Online, Account: Guest}
		if i/run%2 == 0 {
			b.ID, b.Device = "", id(i)
		}
		n.Offer("a", b)
	}
}

// A push has one kind of item. So a mixture is pushed run by run, in its order.
func TestOffersOfBothKindsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for run, pushes := range map[int]int{1: 50, 7: 8, 25: 2, 50: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newCluster(t, policyOf("a"))
			n := w.service("n")
			n.offerMixed(50, run)
			stop := w.run(n)
			defer stop()
			time.Sleep(3 * time.Second)
			w.want("a", Counts{Offered: 50, Sent: 50})
			if got := w.sink("a").ids(); !slices.Equal(got, ids(0, 50)) {
				t.Errorf("runs of %d: sent %v", run, got)
			}
			w.set(func() {
				if w.calls["push"] != pushes {
					t.Errorf("runs of %d: %d pushes, want %d", run, w.calls["push"], pushes)
				}
			})
			n.offerMixed(50, run)
			time.Sleep(3 * time.Second)
			once := 0
			for i := range 50 {
				once += i / run % 2
			}
			w.want("a", Counts{Offered: 100, Sent: int64(100 - once), Dropped: map[Reason]int64{Duplicate: int64(once)}})
		})
	}
}

// If the store has no room for more ids, unique items are dropped and counted once. The
// runs around them are pushed as usual.
func TestOffersThatTheStoreDrops(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"answered": false, "once without an answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newCluster(t, policyOf("a"))
				w.set(func() { w.noMoreIDs = true })
				n := w.service("n")
				n.offerMixed(60, 10)
				n.Offer("a", Behaviour{Type: Online}) // of nobody
				calls := 0
				w.set(func() {
					w.loss = func(operation, _ string) error {
						if operation != "push" || !lost {
							return nil
						}
						if calls++; calls%2 == 1 {
							return errStore
						}
						return nil
					}
				})
				stop := w.run(n)
				defer stop()
				time.Sleep(20 * time.Second)
				w.want("a", Counts{Offered: 61, Sent: 30, Dropped: map[Reason]int64{QueueFull: 30, Invalid: 1}})
				if held := n.buffered.Load(); held != 0 {
					t.Errorf("%d are held", held)
				}
				for i, got := range w.sink("a").ids() {
					if want := id(i/10*20 + i%10); got != want {
						t.Fatalf("number %d is %s, want %s", i, got, want)
					}
				}
			})
		})
	}
}

// owned returns the partitions that a node owns.
func (n *node) owned() (owned []int) {
	for _, p := range n.partitions {
		if n.members.owns(p) {
			owned = append(owned, p.index)
		}
	}
	return owned
}

// A node owns no partitions until it knows which nodes are alive. Then the nodes
// share the partitions, and another node takes over those of a node that leaves.
func TestOwnedPartitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		idle := w.service("idle")
		if idle.owned() != nil || idle.Alive() != nil {
			t.Errorf("before it runs: %v of %v", idle.owned(), idle.Alive())
		}
		a, b := w.start("a"), w.start("b")
		time.Sleep(2 * time.Second)
		both := slices.Concat(a.owned(), b.owned())
		if slices.Sort(both); !slices.Equal(both, []int{0, 1, 2, 3}) || !slices.Equal(a.Alive(), []string{"a", "b"}) || !slices.Equal(b.Alive(), a.Alive()) {
			t.Errorf("a has %v of %v, b %v of %v", a.owned(), a.Alive(), b.owned(), b.Alive())
		}
		a.stop()
		time.Sleep(2 * time.Second)
		if !slices.Equal(b.owned(), []int{0, 1, 2, 3}) || !slices.Equal(b.Alive(), []string{"b"}) {
			t.Errorf("alone b has %v of %v", b.owned(), b.Alive())
		}
		w.set(func() { w.fault = func(string, string) error { return errStore } })
		time.Sleep(time.Minute)
		if len(b.owned()) != partitions || len(b.Alive()) != 1 {
			t.Errorf("while the store is down b has %v of %v", b.owned(), b.Alive())
		}
		w.set(func() { w.fault = nil })
		b.stop()
	})
}
