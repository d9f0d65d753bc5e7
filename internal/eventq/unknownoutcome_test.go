package eventq

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A take whose answers are lost has still happened: the batch is found again and
// sent.
func TestTakeWithUnknownOutcomeIsResolved(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"it was taken": true, "it was not": false} {
		for _, hot := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					policy := policyOf("a")
					policy.Hot = hot
					w := newCluster(t, policy)
					n := w.start("n")
					defer n.stop()
					w.failTakes(taken)
					n.offer("a", 0, 200)
					time.Sleep(10 * time.Second)
					w.set(func() { w.fault, w.loss = nil, nil })
					time.Sleep(30 * time.Second)
					w.want("a", Counts{Offered: 200, Sent: 200})
					got := w.sink("a").ids()
					if slices.Sort(got); !slices.Equal(got, ids(0, 200)) {
						t.Errorf("sent %v", got)
					}
					if n.isServed("a") || n.metric(t, "retries_total", "") != 0 {
						t.Error("a worker still repeats a call, or a first try counts as another")
					}
				})
			})
		}
	}
}

// A node that leaves with such a batch requeues it.
func TestBatchWithUnknownOutcomeIsRequeued(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"it was taken": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newCluster(t, policyOf("a"))
				n := w.start("n")
				w.failTakes(taken)
				n.offer("a", 0, 200)
				time.Sleep(10 * time.Second)
				w.set(func() { w.fault, w.loss = nil, nil })
				n.stop()
				w.want("a", Counts{Offered: 200, Queued: 200})
			})
		})
	}
}

// failTakes makes every take lose its answer, whether it was executed or not.
func (w *cluster) failTakes(done bool) {
	fails := func(operation, _ string) error {
		if operation == "take" {
			return errStore
		}
		return nil
	}
	w.set(func() {
		if w.fault = fails; done {
			w.fault, w.loss = nil, fails
		}
	})
}

// While the store does not answer how a batch ended, the game takes no other. After
// the lease the batch counts as lost, and the game goes on.
func TestAGameWaitsForItsBatchUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.start("n")
		defer n.stop()
		w.set(func() {
			w.fault = func(operation, _ string) error {
				if operation == "finish" {
					return errStore
				}
				return nil
			}
		})
		for second := range 18 {
			n.offer("a", second, 1)
			time.Sleep(time.Second)
		}
		w.set(func() {
			if w.calls["take"] != 1 || w.calls["finish"] < 10 {
				t.Errorf("calls: %v", w.calls)
			}
		})
		time.Sleep(4 * time.Second)
		w.set(func() { w.fault = nil })
		time.Sleep(10 * time.Second)
		w.want("a", Counts{Offered: 18, Sent: 17, Dropped: map[Reason]int64{NodeLost: 1}})
	})
}

// A game with full batches takes at most one more while the store does not answer how a
// batch ended. Then it goes on. The first batch of a game is one message; the next has what is
// queued by then.
func TestUnansweredBatchesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.service("n")
		const offered, most = 2 * maxMessages * MaxBatch, (1 + maxMessages) * MaxBatch
		n.offer("a", 0, offered)
		w.set(func() {
			w.fault = func(operation, _ string) error {
				if operation == "finish" {
					return errStore
				}
				return nil
			}
		})
		stop := w.run(n)
		defer stop()
		time.Sleep(10 * time.Second)
		if c := w.counts("a"); c.InFlight <= MaxBatch || c.InFlight > most || c.InFlight+c.Queued != offered {
			t.Errorf("%+v; want at most %d in flight", c, most)
		}
		w.set(func() { w.fault = nil })
		time.Sleep(5 * time.Second)
		w.want("a", Counts{Offered: offered, Sent: offered})
	})
}
