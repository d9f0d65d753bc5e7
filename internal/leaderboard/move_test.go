package leaderboard

import (
	"errors"
	"fmt"
	"testing"
)

// Moving an erased player with many days takes several transactions of limited size. Later
// results count for the new id.
func TestAMoveOfManyDaysIsSmallSteps(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.cfg.Windows = append(b.cfg.Windows, "30d")
	b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
	for range 28 {
		b.addPlayers(3)
		b.ledger.startDays(1)
		b.apply(t)
		b.maintainAll(t)
	}
	b.store.maxWrites = 0
	b.ledger.erase("p1", "opaque", false)
	b.ledger.addResult(Players, "opaque", 5)
	b.apply(t)
	if b.store.maxWrites > stepWrites {
		t.Errorf("a transaction has %d writes", b.store.maxWrites)
	}
	b.checkBoards(t)
	if n := b.buildCount(copyLost); n != 0 {
		t.Errorf("%v builds were counted", n)
	}
}

// Boards that have not applied a move before the ledger wipes the former id are
// rebuilt. The same applies to a board set that is being built.
func TestAMoveThatComesTooLateRebuilds(t *testing.T) {
	t.Parallel()
	for _, building := range []bool{false, true} {
		t.Run(fmt.Sprint("building ", building), func(t *testing.T) {
			t.Parallel()
			b := newApplierFixture()
			b.playDays(t, 3, 20)
			if building {
				b.startUnpublishedBuild(t)
			}
			b.ledger.erase("p1", "opaque", true)
			b.apply(t)
			if err := b.build(t.Context(), b.cfg); err != nil {
				t.Fatal(err)
			}
			b.apply(t)
			b.checkBoards(t)
		})
	}
}

// startUnpublishedBuild loads another board set, and does not publish it.
func (b *applierFixture) startUnpublishedBuild(t *testing.T) {
	t.Helper()
	if err := b.Rebuild(t.Context(), b.cfg.Game); err != nil {
		t.Fatal(err)
	}
	heal := b.store.beforeCall
	b.store.beforeCall = func(called string) error {
		if called == "Publish" {
			return errCut
		}
		return nil
	}
	if err := b.build(t.Context(), b.cfg); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	b.store.beforeCall = heal
}
