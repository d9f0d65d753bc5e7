package eventq

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

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

// A batch whose lease has ended counts as lost, although it was sent.
func TestABatchThatIsNotInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(context.Context, int, Batch) Outcome {
			w.set(func() {
				clear(w.flight)
				k := w.games["a"]
				k.counts.InFlight, k.counts.Dropped[NodeLost] = 0, k.counts.InFlight
			})
			return arrived
		}
		n := w.start("n")
		defer n.stop()
		n.offer("a", 0, MaxBatch)
		time.Sleep(time.Second)
		w.want("a", Counts{Offered: MaxBatch, Dropped: map[Reason]int64{NodeLost: MaxBatch}})
	})
}

// A receiver of full batches that becomes slow gets the rest in order, and in its time.
func TestASinkThatBecomesSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, policyOf("a"))
		w.sink("a").answer = func(ctx context.Context, n int, _ Batch) Outcome {
			if n == 4 {
				return Outcome{Code: "500", Err: errSink}
			}
			if n > 4 {
				wait(ctx, 2*time.Second)
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
		if len(first) != 12*MaxBatch || !slices.Equal(again, ids(3*MaxBatch, MaxBatch)) || !slices.Equal(first[:4*MaxBatch], ids(0, 4*MaxBatch)) {
			t.Errorf("%d, tried again: %v", len(first), again)
		}
	})
}
