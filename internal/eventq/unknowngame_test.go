package eventq

import (
	"testing"
	"testing/synctest"
	"time"
)

// The items of a game that is not configured any more are dropped when they are
// stale. Until then a restart with the game sends them.
func TestItemsOfAnUnknownGameBecomeStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := policyOf("gone")
		w := newCluster(t, policyOf("a"))
		items := []Item{{ID: "x", At: w.now(), QueuedAt: w.now()}, {ID: "y", At: w.now(), QueuedAt: w.now()}}
		gone.BatchSize = 2 // a full batch
		if _, err := w.Push(t.Context(), gone, Push{ID: "p", Items: items, Now: w.now()}); err != nil {
			t.Fatal(err)
		}
		n := w.start("n")
		defer n.stop()
		time.Sleep(170 * time.Second)
		w.want("gone", Counts{Offered: 2, Queued: 2})
		time.Sleep(2 * time.Minute)
		w.want("gone", Counts{Offered: 2, Dropped: map[Reason]int64{TooOld: 2}})
		w.set(func() {
			if w.games["gone"].due != 0 || w.calls["maintain"] > 20 {
				t.Errorf("it stays due at %d after %d calls", w.games["gone"].due, w.calls["maintain"])
			}
		})
	})
}

// What a game had in flight that is not configured any more is counted as lost.
func TestBatchOfAnUnknownGameIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := policyOf("gone")
		w := newCluster(t, policyOf("a"))
		w.Push(t.Context(), gone, Push{ID: "p", Items: []Item{{ID: "x", At: w.now(), QueuedAt: w.now()}}, Now: w.now()})
		w.Take(t.Context(), gone, Take{Batch: "lost", Messages: 1, Now: w.now(), Lease: lease.Milliseconds()})
		n := w.start("n")
		defer n.stop()
		time.Sleep(lease + maintenanceInterval)
		w.want("gone", Counts{Offered: 1, Dropped: map[Reason]int64{NodeLost: 1}})
	})
}
