package leaderboard

import (
	"errors"
	"fmt"
	"testing"
)

// An erased player of many days moves in steps of bounded size; results that come
// later count for the new id, and a build that began before follows.
func TestAMoveOfManyDaysIsSmallSteps(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.cfg.Windows = append(b.cfg.Windows, "30d")
	b.Applier = appliersOf(b.book, b.memory, b.cfg)
	for range 28 {
		b.crowd(3)
		b.book.turns(1)
		b.apply(t)
		b.pieces(t)
	}
	b.memory.widest = 0
	b.book.erase("p1", "opaque", false)
	b.book.result(Players, "opaque", 5)
	b.apply(t)
	if b.memory.widest > stepWrites {
		t.Errorf("a step of %d writes", b.memory.widest)
	}
	b.right(t)
	if n := b.builds(copyLost); n != 0 {
		t.Errorf("%v builds", n)
	}
}

// Boards that are behind a move when the ledger has forgotten whose entries it
// moves are built anew; so is a copy that is being built.
func TestAMoveThatComesTooLateBuildsAnew(t *testing.T) {
	t.Parallel()
	for _, building := range []bool{false, true} {
		t.Run(fmt.Sprint("building ", building), func(t *testing.T) {
			t.Parallel()
			b := newBench()
			b.days(t, 3, 20)
			if building {
				b.halfBuilt(t)
			}
			b.book.erase("p1", "opaque", true)
			b.apply(t)
			if err := b.build(t.Context(), b.cfg); err != nil {
				t.Fatal(err)
			}
			b.apply(t)
			b.right(t)
		})
	}
}

// halfBuilt has a copy loaded beside the one that is served, and not published.
func (b *bench) halfBuilt(t *testing.T) {
	t.Helper()
	if err := b.Rebuild(t.Context(), b.cfg.Game); err != nil {
		t.Fatal(err)
	}
	heal := b.memory.fail
	b.memory.fail = func(called string) error {
		if called == "Publish" {
			return errCut
		}
		return nil
	}
	if err := b.build(t.Context(), b.cfg); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	b.memory.fail = heal
}
