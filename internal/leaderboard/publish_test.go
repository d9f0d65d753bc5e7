package leaderboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// callInterceptor calls hook before the first call of a method. For SetLease, method
// includes the work of the lease: "SetLease apply".
type callInterceptor struct {
	*memoryStore
	method string
	hook   func()
}

func (c *callInterceptor) intercept(method string) {
	if hook := c.hook; method == c.method && hook != nil {
		c.hook = nil
		hook()
	}
}

func (c *callInterceptor) Publish(ctx context.Context, boardSet BoardSet) error {
	c.intercept("Publish")
	return c.memoryStore.Publish(ctx, boardSet)
}

func (c *callInterceptor) SetLease(ctx context.Context, leaseID LeaseID, holder string, ttl time.Duration) (bool, error) {
	c.intercept("SetLease " + leaseID.Work)
	return c.memoryStore.SetLease(ctx, leaseID, holder, ttl)
}

// A row for which Apply has returned without an error is on all boards that are served later,
// also on those of another configuration. This applies to the node that builds and to others.
func TestNewBoardsHoldAllRowsOfTheFormerBoards(t *testing.T) {
	t.Parallel()
	for _, minAnswers := range []int64{6, 7} {
		for _, isSameNode := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) { checkRowsAppliedDuringPublish(t, minAnswers, isSameNode) })
		}
	}
}

func checkRowsAppliedDuringPublish(t *testing.T, minAnswers int64, isSameNode bool) {
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(7), 5, func() {})
	game.apply(t)
	changed := game.cfg
	changed.MinAnswers = minAnswers
	game = newTestNode(changed, game.ledger, game.store)
	interceptor := &callInterceptor{memoryStore: game.store, method: "Publish"}
	builder := newTestApplier(game.ledger, interceptor, game.cfg)
	applier, appliedPos := game.Applier, int64(0)
	if isSameNode {
		applier = builder
	}
	interceptor.hook = func() {
		row := game.ledger.addResult(Players, "late", 1000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := applier.Apply(ctx, game.cfg.Game); err == nil {
			appliedPos = row.Pos
		}
	}
	if err := errors.Join(builder.Rebuild(t.Context(), game.cfg.Game), builder.games[game.cfg.Game].builder.build(t.Context())); err != nil {
		t.Fatal(err)
	}
	if interceptor.hook != nil || game.servedBoardSet().state.Watermark.Pos < appliedPos {
		t.Errorf("min_answers %d, same node %t: the new boards are at position %d, before %d", minAnswers, isSameNode, game.servedBoardSet().state.Watermark.Pos, appliedPos)
	}
	game.apply(t)
	game.checkBoards(t)
}

// When Apply returns, the boards that are served at that time hold all rows.
func TestBoardsOfANewConfigAreServedBeforeApplyReturns(t *testing.T) {
	t.Parallel()
	oldNode := newTestGame(weightedConfig())
	oldNode.playHistory(newRandom(8), 5, func() {})
	oldNode.apply(t)
	changed := oldNode.cfg
	changed.MinAnswers++
	game := newTestNode(changed, oldNode.ledger, oldNode.store)
	interceptor := &callInterceptor{memoryStore: game.store, method: "SetLease apply", hook: func() {
		if err := game.build(t.Context()); err != nil {
			t.Error(err)
		}
		game.ledger.addResult(Players, "late", 1000)
	}}
	if err := newTestApplier(game.ledger, interceptor, game.cfg).Apply(t.Context(), game.cfg.Game); err != nil {
		t.Fatal(err)
	}
	game.checkBoards(t)
}

// A row that Apply adds to the old boards while the builder waits for the apply
// lease is on the new boards too.
func TestNewBoardsHoldARowAppliedDuringThePublish(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(9), 5, func() {})
	game.apply(t)
	var row Row
	interceptor := &callInterceptor{memoryStore: game.store, method: "SetLease apply", hook: func() {
		row = game.ledger.addResult(Players, "late", 1000)
		game.apply(t)
	}}
	oldID := game.store.served[game.cfg.Hash()]
	builder := newTestApplier(game.ledger, interceptor, game.cfg)
	if err := errors.Join(builder.Rebuild(t.Context(), game.cfg.Game), builder.games[game.cfg.Game].builder.build(t.Context())); err != nil {
		t.Fatal(err)
	}
	if interceptor.hook != nil || game.store.served[game.cfg.Hash()] == oldID {
		t.Fatal("the served board set is the same")
	}
	if page := game.page(t, Query{Window: All, Players: "late"}); len(page.Entries) != 1 || game.servedBoardSet().state.Watermark.Pos < row.Pos {
		t.Errorf("the new boards end before position %d: %+v", row.Pos, page)
	}
	game.checkBoards(t)
}
