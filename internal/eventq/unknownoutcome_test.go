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
					if n.sender.waitingItems.Load() != 0 || n.games["a"].sending.waitingBatches != 0 || n.metric(t, "retries_total", "") != 0 {
						t.Error("a batch still waits, or a first try counts as another")
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
