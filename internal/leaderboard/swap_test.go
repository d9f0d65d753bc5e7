package leaderboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// ahead of the first call of a method it does something else. A Lease is called
// by its duty: "Lease apply".
type ahead struct {
	*memory
	of string
	do func()
}

func (a *ahead) meet(method string) {
	if do := a.do; method == a.of && do != nil {
		a.do = nil
		do()
	}
}

func (a *ahead) Publish(ctx context.Context, s State) error {
	a.meet("Publish")
	return a.memory.Publish(ctx, s)
}

func (a *ahead) Lease(ctx context.Context, d Duty, holder string, ttl time.Duration) (bool, error) {
	a.meet("Lease " + d.Name)
	return a.memory.Lease(ctx, d, holder, ttl)
}

// What Apply said to be on the boards stays there when others are read, also
// those of another form.
func TestNewBoardsHoldAllThatTheFormerHeld(t *testing.T) {
	t.Parallel()
	for _, minAnswers := range []int64{6, 7} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(weighted())
			w.history(seeded(7), 5, func() {})
			w.apply(t)
			changed := w.cfg
			changed.MinAnswers = minAnswers
			w = onStores(changed, w.ledger, w.store)
			said := int64(0)
			between := &ahead{memory: w.store, of: "Publish", do: func() {
				row := w.ledger.result(Players, "late", 1000)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := w.applier.Apply(ctx, w.cfg.Game); err == nil {
					said = row.Pos
				}
			}}
			builder := appliersOf(w.ledger, between, w.cfg)
			if err := errors.Join(builder.Rebuild(t.Context(), w.cfg.Game), builder.build(t.Context(), w.cfg)); err != nil {
				t.Fatal(err)
			}
			if between.do != nil || w.served().state.Mark.Pos < said {
				t.Errorf("min_answers %d: the boards went back to %d from %d", minAnswers, w.served().state.Mark.Pos, said)
			}
			w.apply(t)
			w.checkBoards(t)
		})
	}
}

// Apply answers for the boards that are read when it returns.
func TestBoardsOfANewFormAreServedBeforeApplyReturns(t *testing.T) {
	t.Parallel()
	old := newWorld(weighted())
	old.history(seeded(8), 5, func() {})
	old.apply(t)
	changed := old.cfg
	changed.MinAnswers++
	w := onStores(changed, old.ledger, old.store)
	between := &ahead{memory: w.store, of: "Lease apply", do: func() {
		if err := w.build(t.Context()); err != nil {
			t.Error(err)
		}
		w.ledger.result(Players, "late", 1000)
	}}
	if err := appliersOf(w.ledger, between, w.cfg).Apply(t.Context(), w.cfg.Game); err != nil {
		t.Fatal(err)
	}
	w.checkBoards(t)
}

// A row that Apply puts on the former boards while the builder waits for the duty
// to apply is on the new ones too.
func TestNewBoardsHoldARowThatCameLast(t *testing.T) {
	t.Parallel()
	w := newWorld(weighted())
	w.history(seeded(9), 5, func() {})
	w.apply(t)
	var row Row
	between := &ahead{memory: w.store, of: "Lease apply", do: func() {
		row = w.ledger.result(Players, "late", 1000)
		w.apply(t)
	}}
	before := w.store.served[w.cfg.Form()]
	builder := appliersOf(w.ledger, between, w.cfg)
	if err := errors.Join(builder.Rebuild(t.Context(), w.cfg.Game), builder.build(t.Context(), w.cfg)); err != nil {
		t.Fatal(err)
	}
	if between.do != nil || w.store.served[w.cfg.Form()] == before {
		t.Fatal("no other boards are served")
	}
	if p := w.page(t, Query{Window: All, Players: []string{"late"}}); len(p.Entries) != 1 || w.served().state.Mark.Pos < row.Pos {
		t.Errorf("the new boards end before position %d: %+v", row.Pos, p)
	}
	w.checkBoards(t)
}
