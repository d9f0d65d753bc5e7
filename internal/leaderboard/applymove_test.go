package leaderboard

import (
	"errors"
	"fmt"
	"testing"
)

// Moving an erased player with many days takes several transactions of limited size. Later
// results count for the new id.
func TestAMoveOfManyDaysIsSplitIntoSmallTransactions(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards(append(allBoardsConfig().Windows, "30d")...)
	for range 28 {
		fixture.addPlayers(3)
		fixture.ledger.startDays(1)
		fixture.apply(t)
		fixture.maintain(t)
	}
	fixture.store.maxWrites = 0
	fixture.ledger.erase("p1", "opaque", false)
	fixture.ledger.addResult(Players, "opaque", 5)
	fixture.apply(t)
	if fixture.store.maxWrites > maxTransactionWrites {
		t.Errorf("a transaction has %d writes", fixture.store.maxWrites)
	}
	fixture.checkBoards(t)
	if n := fixture.buildCount(reasonLost); n != 0 {
		t.Errorf("%v builds were counted", n)
	}
}

// Boards that have not applied a move before the ledger wipes the former id are
// rebuilt. The same applies to a board set that is being built.
func TestAMoveWhoseFormerIDWasWipedRebuildsBoards(t *testing.T) {
	t.Parallel()
	for _, building := range []bool{false, true} {
		t.Run(fmt.Sprint("building ", building), func(t *testing.T) {
			t.Parallel()
			fixture := newGameWithAllBoards()
			fixture.playDays(t, 3, 20)
			if building {
				fixture.startUnpublishedBuild(t)
			}
			fixture.ledger.erase("p1", "opaque", true)
			fixture.apply(t)
			if err := fixture.boards.builder.build(t.Context()); err != nil {
				t.Fatal(err)
			}
			fixture.apply(t)
			fixture.checkBoards(t)
		})
	}
}

// startUnpublishedBuild loads another board set, and does not publish it.
func (g *testGame) startUnpublishedBuild(t *testing.T) {
	t.Helper()
	if err := g.Rebuild(t.Context(), g.cfg.Game); err != nil {
		t.Fatal(err)
	}
	originalHook := g.store.beforeCall
	g.store.beforeCall = func(called string) error {
		if called == "Publish" {
			return errInjected
		}
		return nil
	}
	if err := g.boards.builder.build(t.Context()); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	g.store.beforeCall = originalHook
}
