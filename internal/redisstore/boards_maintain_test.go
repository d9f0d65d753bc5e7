package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
)

// runUntil runs an applier until done returns true.
func (c *testCluster) runUntil(t failingTest, applier *lb.Applier, done func() bool) {
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

// maintainAll runs the applier of a node until isMaintained returns true.
func (c *testCluster) maintainAll(t failingTest, node int) {
	t.Helper()
	c.runUntil(t, c.nodes[node].applier, func() bool { return c.isMaintained(t) })
}

// isMaintained reports whether the served board of each window has exactly the days of the
// window, and the unserved board those of tomorrow's window.
func (c *testCluster) isMaintained(t failingTest) bool {
	t.Helper()
	store := c.nodes[0].store
	state, err := store.ServedState(t.Context(), c.cfg.Game, c.cfg.Hash())
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if state.Version == "" || state.PendingBuild != "" || state.Watermark != c.ledger.watermark() {
		return false
	}
	for window, boards := range state.Rolling {
		windowStart := daysBefore(state.Watermark.Day, window.Days()-1)
		if boards.FirstDays[boards.Served] != windowStart || boards.FirstDays[1-boards.Served] != daysBefore(windowStart, -1) || boards.Cursor != [2]int64{} {
			return false
		}
	}
	return true
}

// crashingStore is the store of a node that dies in one of its commits, before or after
// the commit is written.
type crashingStore struct {
	*redisstore.Boards
	commitsLeft atomic.Int64 // number of commits before the one in which the node dies
	writesLast  bool         // the commit in which the node dies is written
}

var errKilled = errors.New("killed")

func (s *crashingStore) Commit(ctx context.Context, boardSet lb.BoardSet, txs []lb.Transaction) error {
	switch commitsLeft := s.commitsLeft.Add(-1); {
	case commitsLeft >= 0:
		return s.Boards.Commit(ctx, boardSet, txs)
	case commitsLeft == -1 && s.writesLast:
		return errors.Join(s.Boards.Commit(ctx, boardSet, txs), errKilled)
	}
	return errKilled
}

// applyWithCrash runs a separate node that dies in the commit after commitsBefore others. It
// ends without a crash if there are fewer commits.
func (c *testCluster) applyWithCrash(t failingTest, commitsBefore int64, writesLast bool) {
	t.Helper()
	store := &crashingStore{Boards: c.nodes[0].store, writesLast: writesLast}
	store.commitsLeft.Store(commitsBefore)
	c.runUntil(t, c.applierOn(store), func() bool { return store.commitsLeft.Load() < 0 || c.isMaintained(t) })
}

func TestADayIsEvictedAlthoughNodesDie(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		for i := range 160 {
			cluster.ledger.addPlayerResult(fmt.Sprintf("p%d", i%120), newAggregates(int64(i)))
		}
		for i := range 110 {
			cluster.ledger.addResult(lb.Teams, fmt.Sprintf("t%d", i), newAggregates(int64(i)))
		}
		cluster.maintainAll(t, 0)
		cluster.ledger.startDay()
		cluster.addResults()
		cluster.apply(t, 0)
		cluster.ledger.startDay()
		cluster.apply(t, 0)
		for kills := int64(0); !cluster.isMaintained(t); kills++ {
			if kills == 100 {
				t.Fatal("the eviction is not finished after 100 nodes")
			}
			cluster.ledger.correct(1 + 13*kills) // also on the day that is being evicted
			cluster.ledger.addPlayerResult("p3", newAggregates(kills))
			cluster.apply(t, 0)
			cluster.applyWithCrash(t, kills%3, kills%2 == 0)
			cluster.checkRolling(t)
		}
		cluster.maintainAll(t, 0)
		cluster.checkAll(t, 0, 50)
		served, err := cluster.nodes[0].store.ServedState(t.Context(), cluster.cfg.Game, cluster.cfg.Hash())
		if err != nil || served.OldestDay != firstDay {
			t.Fatalf("%+v, %v: the boards of a day that the longest window holds were deleted", served, err)
		}
	})
}

// checkRolling compares the rolling boards with the oracle.
func (c *testCluster) checkRolling(t failingTest) {
	t.Helper()
	reference := newOracle(t, c.cfg, c.ledger.allRows())
	defer reference.close(t)
	for _, kind := range lb.Kinds() {
		for _, window := range c.cfg.Windows {
			if window.IsRolling() {
				c.checkBoard(t, reference, 0, lb.Query{Window: window, Order: lb.ByValue, Kind: kind, Limit: lb.MaxLimit})
			}
		}
	}
}
