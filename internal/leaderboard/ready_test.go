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

// checkNotBuilt checks that Ready names exactly these games.
func checkNotBuilt(t *testing.T, a *Applier, games ...string) {
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

// Boards of an empty game have to be built too. Ready names the games whose boards
// are not built, and no others.
func TestReadyNamesGamesWithoutBoards(t *testing.T) {
	t.Parallel()
	one, two := weightedConfig(), weightedConfig()
	one.Game, two.Game = "one", "two"
	two.MinAnswers++
	store, ledger := newMemoryStore(), newDayLedger()
	ledger.rollBack(0)
	a := newTestApplier(ledger, store, one, two)
	checkNotBuilt(t, a, "one", "two")
	if err := a.build(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	checkNotBuilt(t, a, "one")
	ledger.setError(errors.New("out of reach"))
	if err := a.build(t.Context(), one); err == nil {
		t.Fatal("built without a ledger")
	}
	checkNotBuilt(t, a, "one")
	ledger.setError(nil)
	if err := a.build(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	checkNotBuilt(t, a)
}

// Lost boards do not make a running node unready. A node that starts after the loss
// waits for new boards.
func TestAGameStaysReady(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	w.playHistory(newRandom(1), 3, func() {})
	w.apply(t)
	checkNotBuilt(t, w.applier)
	clear(w.store.served)
	w.store.beforeCall = func(string) error { return errors.New("away") }
	checkNotBuilt(t, w.applier)
	next := newTestNode(w.cfg, w.ledger, w.store)
	if err := next.applier.Ready(t.Context()); err == nil || errors.Is(err, ErrNotBuilt) {
		t.Errorf("without a store ready is %v", err)
	}
	w.store.beforeCall = func(string) error { return nil }
	checkNotBuilt(t, next.applier, w.cfg.Game)
}

// A node is ready if complete boards of its ledger are served, of its configuration
// or the one before. They may be behind the ledger.
func TestReadyNeedsCompleteBoardsOfTheLedger(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	w.playHistory(newRandom(2), 3, func() {})
	w.apply(t)
	if err := w.applier.Rebuild(t.Context(), w.cfg.Game); err != nil {
		t.Fatal(err)
	}
	w.ledger.addResult(Players, "late", 1)
	checkNotBuilt(t, newTestNode(w.cfg, w.ledger, w.store).applier)

	changed := w.cfg
	changed.MinAnswers++
	checkNotBuilt(t, newTestNode(changed, w.ledger, w.store).applier)
	w.servedCopy().state.Version = "" // as if the board set was corrupt
	checkNotBuilt(t, newTestNode(w.cfg, w.ledger, w.store).applier, w.cfg.Game)
	next := newTestNode(changed, w.ledger, w.store)
	checkNotBuilt(t, next.applier, changed.Game)
	if err := next.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkNotBuilt(t, next.applier)

	w.ledger.epoch = "another"
	checkNotBuilt(t, newTestNode(changed, w.ledger, w.store).applier, changed.Game)
}

func TestAwaitEndsWhenTheBoardsAreBuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTestGame(weightedConfig())
		w.playHistory(newRandom(3), 3, func() {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.applier.Await(ctx); !errors.Is(err, ErrNotBuilt) {
			t.Errorf("without a running build, Await returned %v", err)
		}
		applied := make(chan error, 1)
		go func() { applied <- w.applier.Apply(t.Context(), w.cfg.Game) }()
		began := time.Now()
		if err := w.applier.Await(t.Context()); err != nil || time.Since(began) > readyPoll {
			t.Errorf("Await returned after %v with %v", time.Since(began), err)
		}
		if err := <-applied; err != nil {
			t.Fatal(err)
		}
		w.checkBoards(t)
	})
}

// A node that starts with other windows is ready at once. Readers see the boards of
// the former configuration until the new ones are built.
func TestChangedWindowsAreReadyAtOnce(t *testing.T) {
	t.Parallel()
	old := newTestGame(weightedConfig())
	old.playHistory(newRandom(4), 3, func() {})
	old.ledger.addResult(Players, "x", 5)
	old.apply(t)
	changed := old.cfg
	changed.Windows = []Window{All, Day, "3d"}
	w := newTestNode(changed, old.ledger, old.store)
	checkNotBuilt(t, w.applier)
	if p := w.page(t, Query{Window: All}); p.Total == 0 {
		t.Error("before the new boards are built the old ones are not read")
	}
	if _, err := w.reader.Page(t.Context(), changed.Game, Query{Window: "3d"}); !errors.Is(err, ErrNotReady) {
		t.Errorf("the new window before its boards are built: %v", err)
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkNotBuilt(t, w.applier)
	if p := w.page(t, Query{Window: "3d"}); p.Total == 0 {
		t.Error("the new window is empty")
	}
	w.checkBoards(t)
}

// brokenGameLedger is a ledger whose snapshot of one game fails.
type brokenGameLedger struct {
	*dayLedger
	game string
}

func (l brokenGameLedger) Snapshot(ctx context.Context, game string, work func(Snapshot) error) error {
	if game == l.game {
		return errors.New("a row cannot be read")
	}
	return l.dayLedger.Snapshot(ctx, game, work)
}

// A game that cannot be built keeps a node unready for at most a minute. Other games
// are not affected.
func TestAGameThatCannotBeBuiltDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := weightedConfig(), weightedConfig()
		one.Game, two.Game = "one", "two"
		two.MinAnswers++
		store, ledger := newMemoryStore(), newDayLedger()
		ledger.rollBack(0)
		a := newTestApplier(brokenGameLedger{ledger, "one"}, store, one, two)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }() // waited for below
		time.Sleep(maxFailing / 2)
		checkNotBuilt(t, a, "one")
		time.Sleep(maxFailing)
		checkNotBuilt(t, a)
		for game, want := range map[string]float64{"one": 1, "two": 0} {
			if is := testutil.ToFloat64(a.metrics.failing.WithLabelValues(game)); is != want {
				t.Errorf("the metric build_failing of %s is %v, want %v", game, is, want)
			}
		}
		reader := NewReader(ReaderOptions{
			Games: []Config{one, two}, Source: sortingSource{store}, Configs: store, Archive: NewArchive(ledger), Now: a.now,
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
