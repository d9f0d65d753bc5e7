package leaderboard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
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

// A node is ready with complete older boards of its ledger, of its configuration or
// of the one before, and with no others.
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
	notReady(t, onStores(changed, w.ledger, w.store).applier)
	w.served().state.Stamp = "" // as of a torn copy
	notReady(t, onStores(w.cfg, w.ledger, w.store).applier, w.cfg.Game)
	next := onStores(changed, w.ledger, w.store)
	notReady(t, next.applier, changed.Game)
	if err := next.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	notReady(t, next.applier)

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

// A node that starts with other windows is ready at once: reads are answered from
// the boards of the windows before, and from its own once they are built.
func TestChangedWindowsAreReadyAtOnce(t *testing.T) {
	t.Parallel()
	old := newWorld(weighted())
	old.history(seeded(4), 3, func() {})
	old.ledger.result(Players, "x", 5)
	old.apply(t)
	changed := old.cfg
	changed.Windows = []Window{All, Day, "3d"}
	w := onStores(changed, old.ledger, old.store)
	notReady(t, w.applier)
	if p := w.page(t, Query{Window: All}); p.Total == 0 {
		t.Error("before the new boards are built the old ones are not read")
	}
	if _, err := w.reader.Page(t.Context(), changed.Game, Query{Window: "3d"}); !errors.Is(err, ErrNotReady) {
		t.Errorf("the new window before its boards are built: %v", err)
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	notReady(t, w.applier)
	if p := w.page(t, Query{Window: "3d"}); p.Total == 0 {
		t.Error("the new window is empty")
	}
	w.checkBoards(t)
}

// oneBroken is a ledger from which one game cannot be built.
type oneBroken struct {
	*annals
	game string
}

func (l oneBroken) Snapshot(ctx context.Context, game string, work func(Snapshot) error) error {
	if game == l.game {
		return errors.New("a row cannot be read")
	}
	return l.annals.Snapshot(ctx, game, work)
}

// A game that cannot be built keeps a node unready for a minute at the most, and no
// other game's reads.
func TestAGameThatCannotBeBuiltHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := weighted(), weighted()
		one.Game, two.Game = "one", "two"
		two.MinAnswers++
		store, ledger := newMemory(), newAnnals()
		ledger.rollBack(0)
		a := appliersOf(oneBroken{ledger, "one"}, store, one, two)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }() // waited for below
		time.Sleep(maxFailing / 2)
		notReady(t, a, "one")
		time.Sleep(maxFailing)
		notReady(t, a)
		for game, want := range map[string]float64{"one": 1, "two": 0} {
			if is := testutil.ToFloat64(a.metrics.failing.WithLabelValues(game)); is != want {
				t.Errorf("failing of %s is %v, want %v", game, is, want)
			}
		}
		reader := NewReader(ReaderOptions{
			Games: []Config{one, two}, Source: naive{store}, Forms: store, Archive: NewArchive(ledger), Now: a.now,
		})
		if _, err := reader.Page(t.Context(), "one", Query{Window: All}); !errors.Is(err, ErrNotReady) {
			t.Errorf("the game that cannot be built: %v", err)
		}
		if _, err := reader.Page(t.Context(), "two", Query{Window: All}); err != nil {
			t.Errorf("the other game: %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
