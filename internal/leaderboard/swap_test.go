package leaderboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// callInterceptor calls hook before the first call of a method. The method of a lease
// includes its duty: "AcquireLease apply".
type callInterceptor struct {
	*memoryStore
	method string
	hook   func()
}

func (a *callInterceptor) intercept(method string) {
	if hook := a.hook; method == a.method && hook != nil {
		a.hook = nil
		hook()
	}
}

func (a *callInterceptor) Publish(ctx context.Context, s State) error {
	a.intercept("Publish")
	return a.memoryStore.Publish(ctx, s)
}

func (a *callInterceptor) AcquireLease(ctx context.Context, d Duty, holder string, ttl time.Duration) (bool, error) {
	a.intercept("AcquireLease " + d.Name)
	return a.memoryStore.AcquireLease(ctx, d, holder, ttl)
}

// Rows that Apply has reported as applied are on all boards that are served later,
// also on those of another configuration.
func TestNewBoardsHoldAllRowsOfTheFormerBoards(t *testing.T) {
	t.Parallel()
	for _, minAnswers := range []int64{6, 7} {
		synctest.Test(t, func(t *testing.T) {
			w := newTestGame(weightedConfig())
			w.playHistory(newRandom(7), 5, func() {})
			w.apply(t)
			changed := w.cfg
			changed.MinAnswers = minAnswers
			w = newTestNode(changed, w.ledger, w.store)
			appliedPos := int64(0)
			between := &callInterceptor{memoryStore: w.store, method: "Publish", hook: func() {
				row := w.ledger.addResult(Players, "late", 1000)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := w.applier.Apply(ctx, w.cfg.Game); err == nil {
					appliedPos = row.Pos
				}
			}}
			builder := newTestApplier(w.ledger, between, w.cfg)
			if err := errors.Join(builder.Rebuild(t.Context(), w.cfg.Game), builder.build(t.Context(), w.cfg)); err != nil {
				t.Fatal(err)
			}
			if between.hook != nil || w.servedCopy().state.Mark.Pos < appliedPos {
				t.Errorf("min_answers %d: the new boards are at position %d, before %d", minAnswers, w.servedCopy().state.Mark.Pos, appliedPos)
			}
			w.apply(t)
			w.checkBoards(t)
		})
	}
}

// Apply promises rows on the boards that are served when it returns.
func TestBoardsOfANewConfigAreServedBeforeApplyReturns(t *testing.T) {
	t.Parallel()
	old := newTestGame(weightedConfig())
	old.playHistory(newRandom(8), 5, func() {})
	old.apply(t)
	changed := old.cfg
	changed.MinAnswers++
	w := newTestNode(changed, old.ledger, old.store)
	between := &callInterceptor{memoryStore: w.store, method: "AcquireLease apply", hook: func() {
		if err := w.build(t.Context()); err != nil {
			t.Error(err)
		}
		w.ledger.addResult(Players, "late", 1000)
	}}
	if err := newTestApplier(w.ledger, between, w.cfg).Apply(t.Context(), w.cfg.Game); err != nil {
		t.Fatal(err)
	}
	w.checkBoards(t)
}

// A row that Apply adds to the old boards while the builder waits for the apply
// lease is on the new boards too.
func TestNewBoardsHoldARowThatCameLast(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	w.playHistory(newRandom(9), 5, func() {})
	w.apply(t)
	var row Row
	between := &callInterceptor{memoryStore: w.store, method: "AcquireLease apply", hook: func() {
		row = w.ledger.addResult(Players, "late", 1000)
		w.apply(t)
	}}
	before := w.store.served[w.cfg.Hash()]
	builder := newTestApplier(w.ledger, between, w.cfg)
	if err := errors.Join(builder.Rebuild(t.Context(), w.cfg.Game), builder.build(t.Context(), w.cfg)); err != nil {
		t.Fatal(err)
	}
	if between.hook != nil || w.store.served[w.cfg.Hash()] == before {
		t.Fatal("the served board set is the same")
	}
	if p := w.page(t, Query{Window: All, Players: []string{"late"}}); len(p.Entries) != 1 || w.servedCopy().state.Mark.Pos < row.Pos {
		t.Errorf("the new boards end before position %d: %+v", row.Pos, p)
	}
	w.checkBoards(t)
}
