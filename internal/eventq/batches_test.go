package eventq

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// If attempts are quick, several batches are taken and finished together. Each is
// sent by itself, in order.
func TestBatchesAreTakenTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		n := w.service("n")
		n.offer("a", 0, 33*MaxBatch+5)
		stop := w.run(n)
		defer stop()
		time.Sleep(3 * time.Second)
		w.want("a", Counts{Offered: 33*MaxBatch + 5, Sent: 33*MaxBatch + 5})
		if got := w.sink("a").ids(); !slices.Equal(got, ids(0, 33*MaxBatch+5)) {
			t.Error("the order is lost")
		}
		if sizes := w.sink("a").sizes(); len(sizes) != 34 || slices.Max(sizes) != MaxBatch {
			t.Errorf("batches of %v", sizes)
		}
		w.set(func() {
			if w.calls["take"] > 8 || w.calls["finish"] > 8 {
				t.Errorf("calls: %v", w.calls)
			}
		})
		if size := n.metric(t, "flushes_total", "size"); size != 33 {
			t.Errorf("%v full batches are counted", size)
		}
	})
}

// With slow attempts, one batch is taken at a time, so that none becomes stale
// while it waits.
func TestBatchesOfASlowSinkAreTakenOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = answerSlowly(50 * time.Millisecond)
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, 20*MaxBatch)
		time.Sleep(3 * time.Second)
		w.set(func() {
			if w.calls["take"] < 20 {
				t.Errorf("%d takes of 20 batches", w.calls["take"])
			}
		})
	})
}

// If an attempt fails, the other batches of the take go back to the queue, and are
// sent in order.
func TestTheRestOfATakeGoesBack(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(ctx context.Context) Outcome{
		"it fails": func(context.Context) Outcome { return Outcome{Code: "500", Err: errSink} },
		"it is slow": func(ctx context.Context) Outcome {
			wait(ctx, 2*time.Second)
			return arrived
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newCluster(t, policyOf("a"))
				w.sink("a").answer = func(ctx context.Context, n int, _ Batch) Outcome {
					if n == 4 {
						return bad(ctx)
					}
					return arrived
				}
				n := w.service("n")
				n.offer("a", 0, 12*MaxBatch)
				stop := w.run(n)
				defer stop()
				time.Sleep(time.Minute)
				w.want("a", Counts{Offered: 12 * MaxBatch, Sent: 12 * MaxBatch})
				first, again := firstTimes(w.sink("a").ids())
				if !slices.Equal(first, ids(0, 12*MaxBatch)) {
					t.Error("the order is lost")
				}
				if len(again) > 0 && !slices.Equal(again, ids(3*MaxBatch, MaxBatch)) {
					t.Errorf("tried again: %v", again)
				}
				if n.isServed("a") {
					t.Error("a worker still repeats a call")
				}
			})
		})
	}
}

// firstTimes splits the items that a sink got into first attempts and retries. A
// retry may come before, between or after other batches.
func firstTimes(sent []string) (first, again []string) {
	seen := make(map[string]bool, len(sent))
	for _, id := range sent {
		if seen[id] {
			again = append(again, id)
			continue
		}
		seen[id] = true
		first = append(first, id)
	}
	return first, again
}

// A receiver that becomes slow during a take does not hold its messages until their
// lease ends.
func TestATakeThatBecomesSlowEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(ctx context.Context, n int, _ Batch) Outcome {
			if n > 1 {
				wait(ctx, 4*time.Second)
			}
			return arrived
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, MaxBatch)
		time.Sleep(time.Second)
		push := Push{ID: "all at once", Now: w.now()}
		for _, id := range ids(MaxBatch, 10*MaxBatch) {
			push.Items = append(push.Items, Item{ID: id, At: w.now(), QueuedAt: w.now()})
		}
		if _, err := w.Push(t.Context(), w.policies[0], push); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.want("a", Counts{Offered: 11 * MaxBatch, Sent: 11 * MaxBatch})
	})
}

// Messages of a take that were not tried do not count against the rate.
func TestUntriedMessagesKeepTheirTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := policyOf("a")
		policy.PerSecond, policy.Burst = 0.001, 4
		w := newCluster(t, policy)
		w.sink("a").answer = func(_ context.Context, n int, _ Batch) Outcome {
			if n == 2 {
				return Outcome{Code: "500", Err: errSink}
			}
			return arrived
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, MaxBatch)
		time.Sleep(time.Second)
		n.offer("a", MaxBatch, 3*MaxBatch)
		time.Sleep(30 * time.Second)
		w.want("a", Counts{Offered: 4 * MaxBatch, Sent: 3 * MaxBatch, Queued: MaxBatch})
	})
}

// A node that ends during a take requeues the rest of it.
func TestEndWithinATake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(ctx context.Context, n int, _ Batch) Outcome {
			if n == 4 {
				wait(ctx, 900*time.Millisecond)
			}
			return arrived
		}
		n := w.service("n")
		n.offer("a", 0, 7*MaxBatch)
		stop := w.run(n)
		time.Sleep(500 * time.Millisecond)
		w.want("a", Counts{Offered: 7 * MaxBatch, Sent: MaxBatch, InFlight: 6 * MaxBatch})
		stop()
		w.want("a", Counts{Offered: 7 * MaxBatch, Sent: 4 * MaxBatch, Queued: 3 * MaxBatch})
		w.set(func() {
			for i, item := range w.games["a"].items {
				if item.ID != id(4*MaxBatch+i) {
					t.Fatalf("number %d is %s", i, item.ID)
				}
			}
		})
	})
}

// The node finds out about all batches of a take without an answer.
func TestATakeOfSeveralWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"it was taken": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newCluster(t, policyOf("a"))
				n := w.start("n")
				defer n.stop()
				n.offer("a", 0, MaxBatch)
				time.Sleep(time.Second)
				w.failTakes(taken)
				n.offer("a", MaxBatch, 5*MaxBatch+50)
				time.Sleep(10 * time.Second)
				w.set(func() { w.fault, w.loss = nil, nil })
				time.Sleep(30 * time.Second)
				w.want("a", Counts{Offered: 6*MaxBatch + 50, Sent: 6*MaxBatch + 50})
				if n.isServed("a") {
					t.Error("a worker still repeats a call")
				}
			})
		})
	}
}

// A batch whose lease has ended counts as lost, although its messages were sent.
func TestBatchOfATakeNotInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(_ context.Context, n int, _ Batch) Outcome {
			if n == 4 {
				w.set(func() {
					for id, f := range w.games["a"].flight {
						if len(f.items) == 4*MaxBatch {
							delete(w.games["a"].flight, id)
							w.games["a"].counts.InFlight -= 4 * MaxBatch
							w.games["a"].counts.Dropped[NodeLost] += 4 * MaxBatch
						}
					}
				})
			}
			return arrived
		}
		n := w.service("n")
		n.offer("a", 0, 5*MaxBatch)
		stop := w.run(n)
		defer stop()
		time.Sleep(time.Second)
		w.want("a", Counts{Offered: 5 * MaxBatch, Sent: MaxBatch, Dropped: map[Reason]int64{NodeLost: 4 * MaxBatch}})
	})
}

// An attempt was good if nothing is left of the message and nothing was forbidden. A message
// that was dropped after its last attempt is no sign that the receiver works.
func TestGoodAttempts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outcome  Outcome
		attempts int
		isGood   bool
	}{
		"sent":                 {Outcome{Delivery: Delivered}, 1, true},
		"sent, wait a second":  {Outcome{Delivery: Delivered, RetryAfter: time.Second}, 1, true},
		"refused":              {Outcome{Delivery: Refused}, 1, true},
		"forbidden":            {Outcome{Delivery: Forbidden}, 1, false},
		"failed":               {Outcome{}, 1, false},
		"failed the last time": {Outcome{}, maxAttempts, false},
	} {
		b := batch{items: []Item{{ID: "i"}}, tried: Tried{Attempts: test.attempts}}
		if isGood := b.applyOutcome(test.outcome, 0); isGood != test.isGood {
			t.Errorf("%s: %t", name, isGood)
		}
	}
}
