package leaderboard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// notReady checks that exactly these games are named as not built.
func notReady(t *testing.T, a *Applier, games ...string) {
	t.Helper()
	err := a.Ready(t.Context())
	if len(games) == 0 {
		if err != nil {
			t.Errorf("not ready: %v", err)
		}
		return
	}
	if !errors.Is(err, ErrNotBuilt) || !strings.HasSuffix(err.Error(), ": "+strings.Join(games, ", ")) {
		t.Errorf("ready is %v, want %v named", err, games)
	}
}

// An empty game has to be built too, which costs nothing; one that cannot be
// built is named, and the others are not.
func TestAllGamesHaveToBeBuilt(t *testing.T) {
	t.Parallel()
	one, two := weighted(), weighted()
	one.Game, two.Game = "one", "two"
	two.MinAnswers++
	store, ledger := newMemory(), newAnnals()
	ledger.rollBack(0)
	a := appliersOf(ledger, store, one, two)
	notReady(t, a, "one", "two")
	if err := a.build(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	notReady(t, a, "one")
	ledger.fail(errors.New("out of reach"))
	if err := a.build(t.Context(), one); err == nil {
		t.Fatal("built without a ledger")
	}
	notReady(t, a, "one")
	ledger.fail(nil)
	if err := a.build(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	notReady(t, a)
}

// Boards that are lost do not take a node from its players, but one that starts
// then waits for new ones.
func TestAGameStaysReady(t *testing.T) {
	t.Parallel()
	w := newWorld(weighted())
	w.history(seeded(1), 3, func() {})
	w.apply(t)
	notReady(t, w.applier)
	clear(w.store.served)
	w.store.fail = func(string) error { return errors.New("away") }
	notReady(t, w.applier)
	next := onStores(w.cfg, w.ledger, w.store)
	if err := next.applier.Ready(t.Context()); err == nil || errors.Is(err, ErrNotBuilt) {
		t.Errorf("without a store ready is %v", err)
	}
	w.store.fail = func(string) error { return nil }
	notReady(t, next.applier, w.cfg.Game)
}

// A node is ready with complete older boards of its configuration and ledger, and
// with no others.
func TestWhichBoardsAreReady(t *testing.T) {
	t.Parallel()
	w := newWorld(weighted())
	w.history(seeded(2), 3, func() {})
	w.apply(t)
	if err := w.applier.Rebuild(t.Context(), w.cfg.Game); err != nil {
		t.Fatal(err)
	}
	w.ledger.result(Players, "late", 1)
	notReady(t, onStores(w.cfg, w.ledger, w.store).applier)

	changed := w.cfg
	changed.MinAnswers++
	next := onStores(changed, w.ledger, w.store)
	notReady(t, next.applier, changed.Game)
	if err := next.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	notReady(t, next.applier)

	w.served().state.Stamp = "" // as of a torn copy
	notReady(t, onStores(w.cfg, w.ledger, w.store).applier, w.cfg.Game)

	w.ledger.epoch = "another"
	notReady(t, onStores(changed, w.ledger, w.store).applier, changed.Game)
}

func TestAwaitEndsWhenTheBoardsAreBuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(weighted())
		w.history(seeded(3), 3, func() {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.applier.Await(ctx); !errors.Is(err, ErrNotBuilt) {
			t.Errorf("without anybody who builds it ended with %v", err)
		}
		applied := make(chan error, 1)
		go func() { applied <- w.applier.Apply(t.Context(), w.cfg.Game) }()
		began := time.Now()
		if err := w.applier.Await(t.Context()); err != nil || time.Since(began) > readyPoll {
			t.Errorf("it ended after %v with %v", time.Since(began), err)
		}
		if err := <-applied; err != nil {
			t.Fatal(err)
		}
		w.checkBoards(t)
	})
}
