package eventq

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestEndWithThingsInEveryStage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := []Policy{policyOf("collected"), policyOf("queued"), policyOf("trying"), policyOf("waiting"), policyOf("partly")}
		all[1].FlushMS = 60_000
		w := newCluster(t, all...)
		w.sink("trying").answer = answerSlowly(4 * time.Second)
		w.sink("waiting").answer = func(context.Context, int, Batch) Outcome {
			return Outcome{Code: "429", RetryAfter: time.Minute, Err: errSink}
		}
		w.sink("partly").answer = func(context.Context, int, Batch) Outcome {
			return Outcome{Items: []Delivery{Delivered, TryAgain, Refused}, RetryAfter: time.Minute, Code: "200", Err: errSink}
		}
		n := w.start("n")
		for _, game := range []string{"queued", "trying", "waiting", "partly"} {
			n.offer(game, 0, 3)
		}
		time.Sleep(2 * time.Second)
		n.offer("collected", 0, 3)
		began := time.Now()
		n.stop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		w.want("collected", Counts{Offered: 3, Queued: 3})
		w.want("queued", Counts{Offered: 3, Queued: 3})
		w.want("trying", Counts{Offered: 3, Sent: 3})
		w.want("waiting", Counts{Offered: 3, Queued: 3})
		w.want("partly", Counts{Offered: 3, Sent: 1, Queued: 1, Dropped: map[Reason]int64{Rejected: 1}})
		w.set(func() {
			if w.beats["n"] > w.now()-deadAfterMS {
				t.Error("it did not say goodbye")
			}
		})
		n.offer("queued", 3, 1)
		if n.metric(t, "flush_lost_total", "") != 1 {
			t.Error("an offer after the end is not counted")
		}
	})
}

func TestFailedBatchesGoBackInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = failAlways
		n := w.start("n")
		n.offer("a", 0, 3*MaxBatch+10)
		time.Sleep(150 * time.Millisecond)
		n.stop()
		w.want("a", Counts{Offered: 394, Queued: 394})
		w.set(func() {
			var got []string
			for _, item := range w.games["a"].items {
				got = append(got, item.ID)
			}
			if !slices.Equal(got, ids(0, 394)) {
				t.Error("the order is lost")
			}
		})
	})
}

func TestEndWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.start("n")
		w.set(func() { w.fault = func(string, string) error { return errStore } })
		n.offer("a", 0, 7)
		time.Sleep(time.Second)
		began := time.Now()
		n.stop()
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the end took %v", took)
		}
		w.set(func() { w.fault = nil })
		w.want("a", Counts{})
		if n.metric(t, "flush_lost_total", "") != 7 || n.buffered.Load() != 0 {
			t.Error("what is lost is not counted")
		}
	})
}

func TestShutdownIsCountedWhereTheStoreAnswersAtLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.set(func() { w.fault = func(string, string) error { return errStore } })
		n := w.start("n")
		n.offer("a", 0, 3)
		time.Sleep(time.Second)
		n.offer("a", 3, 5)
		w.set(func() {
			w.fault = func(string, string) error { // until nothing is pushed any more
				if c := &n.games["a"].buffer; !c.readIsClosed() {
					return errStore
				}
				return nil
			}
		})
		n.stop()
		w.want("a", Counts{Offered: 5, Dropped: map[Reason]int64{Shutdown: 5}})
		if n.metric(t, "flush_lost_total", "") != 8 {
			t.Error("not all is counted here")
		}
	})
}

func (c *gameBuffer) readIsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isClosed
}

func TestSettlementIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.start("n")
		defer n.stop()
		lost := func(operation, _ string) error {
			if operation == "finish" || operation == "take" {
				return errStore
			}
			return nil
		}
		w.set(func() { w.fault = lost })
		n.offer("a", 0, 5)
		time.Sleep(3 * time.Second)
		w.want("a", Counts{Offered: 5, Queued: 5})
		w.set(func() {
			w.fault, w.loss = nil, func(operation, _ string) error {
				if operation == "finish" {
					return errStore
				}
				return nil
			}
		})
		time.Sleep(3 * time.Second)
		w.set(func() { w.loss = nil })
		time.Sleep(3 * time.Second)
		w.want("a", Counts{Offered: 5, Sent: 5})
		if n.isServed("a") {
			t.Error("the call is still repeated")
		}
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := policyOf("a")
		slow.FlushMS = 60_000
		w := newCluster(t, slow)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 5)
		time.Sleep(150 * time.Millisecond)
		began := time.Now()
		if err := n.Drain(t.Context(), "a"); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		w.want("a", Counts{Offered: 5, Sent: 5})
		if n.metric(t, "flushes_total", "drain") != 1 {
			t.Error("not counted as a drain")
		}
		w.sink("a").answer = failAlways
		n.offer("a", 5, 5)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		time.Sleep(150 * time.Millisecond)
		if err := n.Drain(ctx, "a"); err == nil {
			t.Error("drained what cannot be sent")
		}
	})
}

func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = answerFirst(Outcome{Code: "1006", RetryAfter: 70 * time.Second, Err: errSink})
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 5)
		time.Sleep(60 * time.Second)
		n.offer("a", 5, 5)
		w.want("a", Counts{Offered: 5, Queued: 5})
		time.Sleep(20 * time.Second)
		w.want("a", Counts{Offered: 10, Sent: 10})
		if tries := w.sink("a").allAttempts(); tries[1].at.Sub(tries[0].at) < 70*time.Second {
			t.Error("tried in the ban")
		}
	})
}

// hungQueue is a store that does not answer pushes.
type hungQueue struct{ *memory }

func (hungQueue) Push(ctx context.Context, _ Policy, _ Push) (PushResult, error) {
	<-ctx.Done()
	return PushResult{}, ctx.Err()
}

func TestEndDoesNotWaitForManyHungGames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := numbered(100)
		w := newCluster(t, all...)
		n := w.service("n")
		n.Queue = hungQueue{w.memory}
		n.stop = w.run(n)
		for _, policy := range all {
			n.offer(policy.Game, 0, 1)
		}
		time.Sleep(time.Second)
		began := time.Now()
		n.stop()
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("the end took %v", took)
		}
		if n.metric(t, "flush_lost_total", "") != 100 || n.buffered.Load() != 0 {
			t.Error("what is lost is not counted")
		}
	})
}
