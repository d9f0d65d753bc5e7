package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestABuildFromSumsEqualsTheRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := newRandom(seed)
			w := newTestGame(weightedConfig())
			w.playHistory(random, 1+random.IntN(9), func() {
				if random.IntN(10) == 0 {
					w.apply(t)
					w.maintain(t)
				}
			})
			w.apply(t)
			w.checkBoards(t)
			before := w.store.served[w.cfg.Hash()]
			w.rebuild(t)
			if w.store.served[w.cfg.Hash()] == before {
				t.Fatal("the served board set is the same after Rebuild")
			}
			w.checkBoards(t)
			for range 8 { // rows apply to a built board set as to any other
				w.ledger.startDays(1)
				w.ledger.addResult(Players, "p1", random.Int64N(9))
				w.ledger.correct(1 + random.Int64N(int64(len(w.ledger.rows))))
				w.apply(t)
				w.maintain(t)
				w.checkBoards(t)
			}
		})
	}
}

var errKilled = errors.New("killed")

func TestAKilledBuildIsContinued(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		w := newTestGame(weightedConfig())
		w.playHistory(newRandom(3), 20, func() {})
		calls := 0
		w.store.beforeCall = func(string) error {
			if calls++; calls >= at {
				return errKilled
			}
			return nil
		}
		err := w.build(t.Context())
		w.store.beforeCall = func(string) error { return nil }
		w.store.expireLeases()
		for pos := range w.ledger.rowCount() { // the loaded sums of p0 are outdated now
			if w.ledger.rows[pos].Holder == "p0" {
				w.ledger.correct(pos + 1)
			}
		}
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("killed at call %d: %v", at, err)
		}
		next := newTestNode(w.cfg, w.ledger, w.store)
		next.apply(t)
		next.checkBoards(t)
		if t.Failed() || err == nil {
			return
		}
	}
}

func TestBoardsAreReadAndAppliedWhileOthersAreBuilt(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	w.playHistory(newRandom(4), 5, func() {})
	w.apply(t)
	other := newTestNode(w.cfg, w.ledger, w.store)
	steps := 0
	w.ledger.beforeSum = func() {
		if steps++; steps > 20 {
			return
		}
		w.ledger.addResult(Players, "busy", 1000)
		other.apply(t)
		if p := other.page(t, Query{Window: All, Players: []string{"busy"}}); p.Entries[0].Score != int64(1000*steps) {
			t.Errorf("after %d results the score is %d", steps, p.Entries[0].Score)
		}
		if on, err := other.applier.IsBuilding(t.Context(), w.cfg.Game); err != nil || !on {
			t.Errorf("IsBuilding returned %v, %v", on, err)
		}
	}
	w.rebuild(t)
	if steps < 20 {
		t.Fatalf("the build had %d sums", steps)
	}
	w.checkBoards(t)
	if on, err := other.applier.IsBuilding(t.Context(), w.cfg.Game); err != nil || on {
		t.Errorf("after the build, IsBuilding returned %v, %v", on, err)
	}
}

// Leases do not exclude goroutines of one node. Without a lock, Apply and Run would
// replace each other's board sets for ever.
func TestANodeBuildsOneCopyAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTestGame(weightedConfig())
		w.playHistory(newRandom(6), 5, func() {})
		begun, again := 0, 0
		w.store.beforeCall = func(method string) error {
			if method == "Begin" {
				begun++
			}
			return nil
		}
		w.ledger.beforeSum = func() {
			if again++; again > 1 {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := w.build(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a second build at the same time ended with %v", err)
			}
		}
		w.apply(t)
		w.checkBoards(t)
		if begun != 1 || again == 0 {
			t.Errorf("%d board sets were begun", begun)
		}
	})
}

func TestBuilderStopsWhenItsLeaseExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTestGame(weightedConfig())
		w.playHistory(newRandom(6), 5, func() {})
		w.ledger.beforeSum = func() {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			w.store.leases[buildDuty(w.cfg)] = heldLease{"another", time.Now().Add(time.Hour)}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.build(ctx); !errors.Is(err, context.DeadlineExceeded) || w.servedCopy() != nil {
			t.Errorf("it ended with %v, served: %v", err, w.servedCopy() != nil)
		}
		w.store.expireLeases()
		w.ledger.beforeSum = nil
		w.apply(t)
		w.checkBoards(t)
	})
}

func TestARolledBackLedgerRebuildsBoards(t *testing.T) {
	t.Parallel()
	for name, rollBack := range map[string]func(*dayLedger){
		"shorter":        func(l *dayLedger) { l.rollBack(len(l.rows) - 3) },
		"grown again":    func(l *dayLedger) { l.rows[len(l.rows)-1].ID = "other" },
		"another ledger": func(l *dayLedger) { l.epoch = "e2" },
	} {
		w := newTestGame(weightedConfig())
		w.playHistory(newRandom(5), 3, func() {})
		for range 4 {
			w.ledger.addResult(Players, "p1", 5)
		}
		w.apply(t)
		before := w.store.served[w.cfg.Hash()]
		rollBack(w.ledger)
		w.apply(t)
		w.checkBoards(t)
		if w.store.served[w.cfg.Hash()] == before {
			t.Errorf("%s: the served board set is the same", name)
		}
	}
}

func TestAnEmptyGameIsBuiltAtOnce(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	w.ledger.rollBack(0)
	w.apply(t)
	if p := w.page(t, Query{Window: "5d"}); p.Total != 0 || p.From != addDays(p.To, -4) {
		t.Errorf("%+v", p)
	}
	if err := w.applier.Rebuild(t.Context(), "other"); err == nil {
		t.Error("another game is rebuilt")
	}
	if _, err := w.applier.IsBuilding(t.Context(), "other"); err == nil {
		t.Error("another game is being built")
	}
}

func TestABuildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	ctx, cancel := context.WithCancel(t.Context())
	duty := buildDuty(w.cfg)
	if mine, err := w.store.AcquireLease(ctx, duty, "another", buildLease); err != nil || !mine {
		t.Fatal(mine, err)
	}
	cancel()
	if err := w.build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for another node ended with %v", err)
	}
}
