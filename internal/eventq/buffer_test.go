package eventq

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var errStore = errors.New("the store is down")

func TestPushIsRepeatedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]bool{"it did not arrive": false, "its answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newCluster(t, policyOf("a"), policyOf("b"))
				down := func(operation, game string) error {
					if operation == "push" && game == "a" {
						return errStore
					}
					return nil
				}
				w.set(func() {
					if w.fault = down; unknown {
						w.fault, w.loss = nil, down
					}
				})
				n := w.start("n")
				defer n.stop()
				n.offer("a", 0, 10)
				n.offer("b", 0, 10)
				time.Sleep(5 * time.Second)
				n.offer("a", 10, 10)
				w.want("b", Counts{Offered: 10, Sent: 10})
				w.set(func() { w.fault, w.loss = nil, nil })
				time.Sleep(5 * time.Second)
				w.want("a", Counts{Offered: 20, Sent: 20})
				if got := w.sink("a").ids(); !slices.Equal(got, ids(0, 20)) {
					t.Errorf("sent %v", got)
				}
				if n.metric(t, "store_errors_total", "push") < 3 || n.buffered.Load() != 0 {
					t.Error("the failures do not show, or items are still held")
				}
			})
		})
	}
}

func TestFailingPushIsRepeatedBesideABusyGame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"), policyOf("e")) // of one partition
		if w.Partition("a") != w.Partition("e") {
			t.Fatal("they are of two partitions")
		}
		w.set(func() {
			w.fault = func(operation, game string) error {
				if operation == "push" && game == "a" && w.calls["push"] < 10 {
					return errStore
				}
				return nil
			}
		})
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 1)
		for i := range 500 {
			n.offer("e", i, 1)
			time.Sleep(10 * time.Millisecond)
		}
		w.want("a", Counts{Offered: 1, Sent: 1})
	})
}

func TestCollectorIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small := policyOf("a")
		small.MaxLen = 300
		w := newCluster(t, small)
		w.set(func() { w.fault = func(string, string) error { return errStore } })
		n := w.start("n")
		defer n.stop()
		for i := range 10 {
			n.offer("a", 50*i, 50)
			time.Sleep(100 * time.Millisecond) // some are being pushed, some are not
		}
		if held := n.buffered.Load(); held != 300 {
			t.Errorf("%d held", held)
		}
		w.set(func() { w.fault = nil })
		time.Sleep(5 * time.Second)
		w.want("a", Counts{Offered: 500, Sent: 300, Dropped: map[Reason]int64{QueueFull: 200}})
	})
}

func TestCollectorsAreBoundedInAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := numbered(30)
		w := newCluster(t, all...)
		n := w.service("n") // nobody pushes yet
		for _, policy := range all {
			n.offer(policy.Game, 0, 9000)
		}
		held := n.buffered.Load()
		for name, g := range n.games {
			if size := len(g.buffer.items); size < maxBuffered/30 {
				t.Errorf("%s holds %d, less than its share", name, size)
			}
		}
		if held > 2*maxBuffered || held >= 30*9000 {
			t.Errorf("%d held", held)
		}
		stop := w.run(n)
		time.Sleep(2 * time.Second)
		stop()
		var full int64
		for _, policy := range all {
			full += w.counts(policy.Game).Dropped[QueueFull]
		}
		if full != 30*9000-held || n.buffered.Load() != 0 {
			t.Errorf("%d did not fit", full)
		}
	})
}

// Games whose store is unreachable leave room for the games of other partitions.
func TestAnUnreachablePartitionLeavesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := numbered(200)
		w := newCluster(t, all...)
		unreachable := func(game string) bool { return w.Partition(game) != 0 }
		w.set(func() {
			w.fault = func(operation, game string) error {
				if operation == "push" && unreachable(game) {
					return errStore
				}
				return nil
			}
		})
		n := w.start("n")
		defer n.stop()
		for _, policy := range all {
			if unreachable(policy.Game) {
				n.offer(policy.Game, 0, 9000)
			}
		}
		for _, policy := range all {
			if !unreachable(policy.Game) {
				n.offer(policy.Game, 0, 100)
			}
		}
		time.Sleep(3 * time.Second)
		for _, policy := range all {
			if !unreachable(policy.Game) {
				w.want(policy.Game, Counts{Offered: 100, Sent: 100})
			}
		}
	})
}

func TestPushesGrowWhenTheStoreIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.service("n")
		n.offer("a", 0, 4500)
		stop := w.run(n)
		time.Sleep(3 * flushDelay)
		w.set(func() {
			if w.calls["push"] != 5 {
				t.Errorf("%d pushes", w.calls["push"])
			}
		})
		stop()
		// The last 20 are too few for a batch, and too young, but may go along with others.
		if c := w.counts("a"); c.Offered != 4500 || c.Sent < 35*MaxBatch || c.Sent+c.Queued != c.Offered {
			t.Errorf("%+v", c)
		}
	})
}

func TestFewItemsWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"), policyOf("c"))
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, MaxBatch-1)
		n.offer("c", 0, MaxBatch)
		time.Sleep(flushDelay / 2)
		w.want("a", Counts{})
		time.Sleep(flushDelay)
		w.want("a", Counts{Offered: MaxBatch - 1, Queued: MaxBatch - 1})
		w.want("c", Counts{Offered: MaxBatch, Sent: MaxBatch}) // found without a poll
		w.set(func() { clear(w.calls) })
		for i := range 100 {
			n.offer("a", MaxBatch+i, 1)
			time.Sleep(10 * time.Millisecond)
		}
		w.set(func() {
			if pushes := w.calls["push"]; pushes < 15 || pushes > 20 {
				t.Errorf("%d pushes of a game in a second", pushes)
			}
		})
	})
}
