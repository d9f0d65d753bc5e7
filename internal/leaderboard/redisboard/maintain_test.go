package redisboard_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

// run runs an applier until done returns true.
func (w *testCluster) run(t failingTest, applier *lb.Applier, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- applier.Run(ctx) }()
	deadline := time.Now().Add(time.Minute)
	finished := done()
	for !finished && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		finished = done()
	}
	cancel()
	if err := <-ended; err != nil || !finished {
		t.Fatalf("Run returned %v; finished: %v", err, finished)
	}
}

// maintainAll runs a node until there is nothing left to do.
func (w *testCluster) maintainAll(t failingTest, node int) {
	t.Helper()
	w.run(t, w.nodes[node].applier, func() bool { return w.isMaintained(t) })
}

// isMaintained reports whether each window is served with its own days, and the other
// board is prepared for tomorrow.
func (w *testCluster) isMaintained(t failingTest) bool {
	t.Helper()
	store := w.nodes[0].store
	state, err := store.ServedState(t.Context(), w.cfg.Game, w.cfg.Hash())
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	building, err := store.BuildingState(t.Context(), w.cfg.Game, w.cfg.Hash())
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if state.Version == "" || building.ID != "" || state.Mark != w.ledger.watermark() {
		return false
	}
	for window, r := range state.Rolling {
		first := before(state.Mark.Day, window.Days()-1)
		if r.FirstDay[r.Served] != first || r.FirstDay[1-r.Served] != before(first, -1) || r.Cursor != [2]int64{} {
			return false
		}
	}
	return true
}

// crashingStore is the store of a node that dies in one of its commits, before or after
// the commit is written.
type crashingStore struct {
	*redisboard.Store
	left    atomic.Int64 // commits before that one
	written bool
}

var errKilled = errors.New("killed")

func (d *crashingStore) Commit(ctx context.Context, g lb.Generation, steps []lb.Step) error {
	switch left := d.left.Add(-1); {
	case left >= 0:
		return d.Store.Commit(ctx, g, steps)
	case left == -1 && d.written:
		return errors.Join(d.Store.Commit(ctx, g, steps), errKilled)
	}
	return errKilled
}

// applyWithCrash runs a separate node that dies in its n-th commit, counted from 0, or
// ends if there are fewer.
func (w *testCluster) applyWithCrash(t failingTest, n int64, written bool) {
	t.Helper()
	store := &crashingStore{Store: w.nodes[0].store, written: written}
	store.left.Store(n)
	w.run(t, w.applierOn(store), func() bool { return store.left.Load() < 0 || w.isMaintained(t) })
}

func TestADayIsEvictedAlthoughNodesDie(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		for i := range 160 {
			w.ledger.result(fmt.Sprintf("p%d", i%120), newAggregates(int64(i)))
		}
		for i := range 110 {
			w.ledger.addResult(lb.Teams, fmt.Sprintf("t%d", i), newAggregates(int64(i)))
		}
		w.maintainAll(t, 0)
		w.ledger.startDay()
		w.addResults()
		w.apply(t, 0)
		w.ledger.startDay()
		w.apply(t, 0)
		for kills := int64(0); !w.isMaintained(t); kills++ {
			if kills == 100 {
				t.Fatal("the eviction is not finished after 100 nodes")
			}
			w.ledger.correct(1 + 13*kills) // also on the day that is being evicted
			w.ledger.result("p3", newAggregates(kills))
			w.apply(t, 0)
			w.applyWithCrash(t, kills%3, kills%2 == 0)
			w.checkRolling(t)
		}
		w.maintainAll(t, 0)
		w.checkAll(t, 0, 50)
		served, err := w.nodes[0].store.ServedState(t.Context(), w.cfg.Game, w.cfg.Hash())
		if err != nil || served.Oldest != firstDay {
			t.Fatalf("%+v, %v: the boards of a day that the longest window holds were deleted", served, err)
		}
	})
}

// checkRolling compares the rolling boards with the oracle.
func (w *testCluster) checkRolling(t failingTest) {
	t.Helper()
	o := newOracle(t, w.cfg, w.ledger.allRows())
	defer o.close(t)
	for _, kind := range lb.Kinds() {
		for _, window := range w.cfg.Windows {
			if window.Rolling() {
				w.checkBoard(t, o, 0, lb.Query{Window: window, Order: lb.ByValue, Kind: kind, Limit: lb.MaxLimit})
			}
		}
	}
}
