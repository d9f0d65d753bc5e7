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

// run has an applier keep the boards until done, and ends it.
func (w *world) run(t failer, applier *lb.Applier, done func() bool) {
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
		t.Fatalf("upkeep ended with %v; finished: %v", err, finished)
	}
}

// rest has a node keep the boards until there is nothing left to do.
func (w *world) rest(t failer, node int) {
	t.Helper()
	w.run(t, w.nodes[node].applier, func() bool { return w.rested(t) })
}

// rested: each window is served with its own days, and the board beside it is
// prepared for tomorrow.
func (w *world) rested(t failer) bool {
	t.Helper()
	store := w.nodes[0].store
	state, err := store.Served(t.Context(), w.cfg.Game, w.cfg.Form())
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	building, err := store.Building(t.Context(), w.cfg.Game, w.cfg.Form())
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if state.Stamp == "" || building.ID != "" || state.Mark != w.ledger.mark() {
		return false
	}
	for window, r := range state.Rolls {
		first := before(state.Mark.Day, window.Days()-1)
		if r.Lo[r.Served] != first || r.Lo[1-r.Served] != before(first, -1) || r.Cursor != [2]int64{} {
			return false
		}
	}
	return true
}

// dying is the store of a node that is killed in one of its commits: before
// that is written, or after it.
type dying struct {
	*redisboard.Store
	left    atomic.Int64 // commits before that one
	written bool
}

var errKilled = errors.New("killed")

func (d *dying) Commit(ctx context.Context, g lb.Generation, steps []lb.Step) error {
	switch left := d.left.Add(-1); {
	case left >= 0:
		return d.Store.Commit(ctx, g, steps)
	case left == -1 && d.written:
		return errors.Join(d.Store.Commit(ctx, g, steps), errKilled)
	}
	return errKilled
}

// killed has a node of its own keep the boards, which dies in its n-th commit
// from 0 on, or ends where there are fewer to do.
func (w *world) killed(t failer, n int64, written bool) {
	t.Helper()
	store := &dying{Store: w.nodes[0].store, written: written}
	store.left.Store(n)
	w.run(t, w.applierOn(store), func() bool { return store.left.Load() < 0 || w.rested(t) })
}

func TestADayLeavesWindowsWhoeverDies(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		for i := range 160 {
			w.ledger.result(fmt.Sprintf("p%d", i%120), right(int64(i)))
		}
		for i := range 110 {
			w.ledger.give(lb.Teams, fmt.Sprintf("t%d", i), right(int64(i)))
		}
		w.rest(t, 0)
		w.ledger.turn()
		w.some()
		w.apply(t, 0)
		w.ledger.turn()
		w.apply(t, 0)
		for kills := int64(0); !w.rested(t); kills++ {
			if kills == 100 {
				t.Fatal("a hundred nodes did not get it done")
			}
			w.ledger.correct(1 + 13*kills) // also inside the day that is being taken out
			w.ledger.result("p3", right(kills))
			w.apply(t, 0)
			w.killed(t, kills%3, kills%2 == 0)
			w.checkRolling(t)
		}
		w.rest(t, 0)
		w.checkAll(t, 0, 50)
		served, err := w.nodes[0].store.Served(t.Context(), w.cfg.Game, w.cfg.Form())
		if err != nil || served.Oldest != firstDay {
			t.Fatalf("%+v, %v: a day left that the longest window holds", served, err)
		}
	})
}

// checkRolling compares the rolling boards with the oracle.
func (w *world) checkRolling(t failer) {
	t.Helper()
	o := newOracle(t, w.cfg, w.ledger.all())
	defer o.close(t)
	for _, kind := range lb.Kinds() {
		for _, window := range w.cfg.Windows {
			if window.Rolling() {
				w.checkBoard(t, o, 0, lb.Query{Window: window, Order: lb.ByValue, Kind: kind, Limit: lb.MaxLimit})
			}
		}
	}
}
