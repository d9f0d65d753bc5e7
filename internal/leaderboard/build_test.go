package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

var errKilled = errors.New("killed")

func TestAnotherNodeContinuesAKilledBuild(t *testing.T) {
	t.Parallel()
	for killedCall := 1; ; killedCall++ {
		game := newTestGame(weightedConfig())
		game.playHistory(newRandom(3), 20, func() {})
		calls := 0
		game.store.beforeCall = func(string) error {
			if calls++; calls >= killedCall {
				return errKilled
			}
			return nil
		}
		err := game.build(t.Context())
		game.store.beforeCall = func(string) error { return nil }
		game.store.expireLeases()
		for pos := range game.ledger.rowCount() { // the loaded sums of p0 are outdated now
			if game.ledger.rows[pos].Holder == "p0" {
				game.ledger.correct(pos + 1)
			}
		}
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatalf("killed at call %d: %v", killedCall, err)
		}
		nextNode := newTestNode(game.cfg, game.ledger, game.store)
		nextNode.apply(t)
		nextNode.checkBoards(t)
		if t.Failed() || err == nil {
			return
		}
	}
}

func TestBoardsAreReadAndAppliedWhileOthersAreBuilt(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(4), 5, func() {})
	game.apply(t)
	otherNode := newTestNode(game.cfg, game.ledger, game.store)
	steps := 0
	game.ledger.beforeEachSum = func() {
		if steps++; steps > 20 {
			return
		}
		game.ledger.addResult(Players, "busy", 1000)
		otherNode.apply(t)
		if page := otherNode.page(t, Query{Window: All, Players: "busy"}); page.Entries[0].Score != int64(1000*steps) {
			t.Errorf("after %d results the score is %d", steps, page.Entries[0].Score)
		}
		if isBuilding, err := otherNode.IsBuilding(t.Context(), game.cfg.Game); err != nil || !isBuilding {
			t.Errorf("IsBuilding returned %v, %v", isBuilding, err)
		}
	}
	game.rebuild(t)
	if steps < 20 {
		t.Fatalf("the build had %d sums", steps)
	}
	game.checkBoards(t)
	if isBuilding, err := otherNode.IsBuilding(t.Context(), game.cfg.Game); err != nil || isBuilding {
		t.Errorf("after the build, IsBuilding returned %v, %v", isBuilding, err)
	}
}

// Leases do not exclude goroutines of one node. Without a lock, Apply and Run would
// replace each other's board sets for ever.
func TestANodeBuildsOneBoardSetAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		game := newTestGame(weightedConfig())
		game.playHistory(newRandom(6), 5, func() {})
		beginCalls, sums := 0, 0
		game.store.beforeCall = func(method string) error {
			if method == "Begin" {
				beginCalls++
			}
			return nil
		}
		game.ledger.beforeEachSum = func() {
			if sums++; sums > 1 {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := game.build(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a second build at the same time ended with %v", err)
			}
		}
		game.apply(t)
		game.checkBoards(t)
		if beginCalls != 1 || sums == 0 {
			t.Errorf("the store began %d board sets, want 1", beginCalls)
		}
	})
}

// Another node finishes its build after this node has found that one is needed, and before
// this node has the lease.
func TestAFinishedBuildIsNotRepeated(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(6), 5, func() {})
	interceptor := &callInterceptor{memoryStore: game.store, method: "SetLease build", hook: func() { game.apply(t) }}
	lateBoards := newTestApplier(game.ledger, interceptor, game.cfg).games[game.cfg.Game]
	if err := lateBoards.builder.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(lateBoards.metrics.builds); n != 0 || interceptor.hook != nil {
		t.Errorf("%d builds were started after another node had built the boards", n)
	}
	game.checkBoards(t)
}

// A load that takes longer than the lease renews it, so that no other node starts over.
func TestALongLoadKeepsTheBuildLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		game := newTestGame(weightedConfig())
		for i := range 2 * int(buildLeaseTTL/time.Second) {
			game.ledger.addResult(Players, fmt.Sprint("p", i), int64(i))
		}
		game.ledger.beforeEachSum = func() {
			time.Sleep(time.Second)
			if hasLease, err := game.store.SetLease(t.Context(), game.boards.buildLease.id, "another", buildLeaseTTL); hasLease || err != nil {
				t.Errorf("another node acquired the lease of a running build (%v)", err)
				game.ledger.beforeEachSum = nil // else no build would end
			}
		}
		if err := game.build(t.Context()); err != nil {
			t.Fatal(err)
		}
		game.checkBoards(t)
	})
}

func TestBuilderStopsWhenItsLeaseExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		game := newTestGame(weightedConfig())
		game.playHistory(newRandom(6), 5, func() {})
		game.ledger.beforeEachSum = func() {
			game.store.mu.Lock()
			defer game.store.mu.Unlock()
			game.store.leases[game.boards.buildLease.id] = heldLease{"another", time.Now().Add(time.Hour)}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := game.build(ctx); !errors.Is(err, context.DeadlineExceeded) || game.servedBoardSet() != nil {
			t.Errorf("a build without its lease ended with %v; boards are served: %v", err, game.servedBoardSet() != nil)
		}
		game.store.expireLeases()
		game.ledger.beforeEachSum = nil
		game.apply(t)
		game.checkBoards(t)
	})
}

func TestARolledBackLedgerRebuildsBoards(t *testing.T) {
	t.Parallel()
	for name, rollBack := range map[string]func(*fakeLedger){
		"shorter":        func(ledger *fakeLedger) { ledger.rollBack(len(ledger.rows) - 3) },
		"grown again":    func(ledger *fakeLedger) { ledger.rows[len(ledger.rows)-1].ID = "other" },
		"another ledger": func(ledger *fakeLedger) { ledger.epoch = "e2" },
	} {
		game := newTestGame(weightedConfig())
		game.playHistory(newRandom(5), 3, func() {})
		for range 4 {
			game.ledger.addResult(Players, "p1", 5)
		}
		game.apply(t)
		oldID := game.store.served[game.cfg.Hash()]
		rollBack(game.ledger)
		game.apply(t)
		game.checkBoards(t)
		if game.store.served[game.cfg.Hash()] == oldID {
			t.Errorf("%s: the served board set is the same", name)
		}
	}
}

func TestApplyBuildsBoardsOfAnEmptyGame(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.ledger.rollBack(0)
	game.apply(t)
	if page := game.page(t, Query{Window: "5d"}); page.Total != 0 || page.From != addDays(page.To, -4) {
		t.Errorf("the page of a game without rows is %+v", page)
	}
	if err := game.Rebuild(t.Context(), "other"); err == nil {
		t.Error("Rebuild accepted an unknown game")
	}
	if _, err := game.IsBuilding(t.Context(), "other"); err == nil {
		t.Error("IsBuilding accepted an unknown game")
	}
}

func TestABuildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	ctx, cancel := context.WithCancel(t.Context())
	leaseID := game.boards.buildLease.id
	if hasLease, err := game.store.SetLease(ctx, leaseID, "another", buildLeaseTTL); err != nil || !hasLease {
		t.Fatal(hasLease, err)
	}
	cancel()
	if err := game.build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for another node ended with %v", err)
	}
}
