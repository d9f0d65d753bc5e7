package leaderboard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

// checkGamesNotReady checks that Ready names exactly these games.
func checkGamesNotReady(t *testing.T, applier *Applier, games ...string) {
	t.Helper()
	err := applier.Ready(t.Context())
	if len(games) == 0 {
		if err != nil {
			t.Errorf("Ready returned %v, want nil", err)
		}
		return
	}
	if !errors.Is(err, ErrNotBuilt) || !strings.HasSuffix(err.Error(), ": "+strings.Join(games, ", ")) {
		t.Errorf("Ready returned %v, want the games %v", err, games)
	}
}

// Ready names exactly the games whose boards are not built. Boards of an empty game must be
// built too.
func TestReadyNamesGamesWithoutBoards(t *testing.T) {
	t.Parallel()
	one, two := weightedConfig(), weightedConfig()
	one.Game, two.Game = "one", "two"
	two.MinAnswers++
	store, ledger := newMemoryStore(), newFakeLedger()
	ledger.rollBack(0)
	applier := newTestApplier(ledger, store, one, two)
	checkGamesNotReady(t, applier, "one", "two")
	if err := applier.games["two"].builder.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkGamesNotReady(t, applier, "one")
	ledger.setError(errors.New("the ledger is unreachable"))
	if err := applier.games["one"].builder.build(t.Context()); err == nil {
		t.Fatal("the build succeeded although the ledger is unreachable")
	}
	checkGamesNotReady(t, applier, "one")
	ledger.setError(nil)
	if err := applier.games["one"].builder.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkGamesNotReady(t, applier)
}

// Lost boards do not make a running node unready. A node that starts after the loss
// waits for new boards.
func TestAGameStaysReadyAfterItsBoardsAreLost(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(1), 3, func() {})
	game.apply(t)
	checkGamesNotReady(t, game.Applier)
	clear(game.store.served)
	game.store.beforeCall = func(string) error { return errors.New("the store is unreachable") }
	checkGamesNotReady(t, game.Applier)
	nextNode := newTestNode(game.cfg, game.ledger, game.store)
	if err := nextNode.Ready(t.Context()); err == nil || errors.Is(err, ErrNotBuilt) {
		t.Errorf("without a store Ready returned %v", err)
	}
	game.store.beforeCall = func(string) error { return nil }
	checkGamesNotReady(t, nextNode.Applier, game.cfg.Game)
}

// A node is ready if complete boards of its ledger are served. They may be of the former
// configuration, and may be behind the ledger.
func TestReadyNeedsCompleteBoardsOfTheLedger(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(2), 3, func() {})
	game.apply(t)
	if err := game.Rebuild(t.Context(), game.cfg.Game); err != nil {
		t.Fatal(err)
	}
	game.ledger.addResult(Players, "late", 1)
	checkGamesNotReady(t, newTestNode(game.cfg, game.ledger, game.store).Applier)

	changed := game.cfg
	changed.MinAnswers++
	checkGamesNotReady(t, newTestNode(changed, game.ledger, game.store).Applier)
	game.servedBoardSet().state.Version = "" // a corrupt board set has no version
	checkGamesNotReady(t, newTestNode(game.cfg, game.ledger, game.store).Applier, game.cfg.Game)
	nextNode := newTestNode(changed, game.ledger, game.store)
	checkGamesNotReady(t, nextNode.Applier, changed.Game)
	if err := nextNode.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkGamesNotReady(t, nextNode.Applier)

	game.ledger.epoch = "another"
	checkGamesNotReady(t, newTestNode(changed, game.ledger, game.store).Applier, changed.Game)
}

func TestAwaitEndsWhenTheBoardsAreBuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		game := newTestGame(weightedConfig())
		game.playHistory(newRandom(3), 3, func() {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := game.Await(ctx); !errors.Is(err, ErrNotBuilt) {
			t.Errorf("without a running build, Await returned %v", err)
		}
		applied := make(chan error, 1)
		go func() { applied <- game.Apply(t.Context(), game.cfg.Game) }()
		began := time.Now()
		if err := game.Await(t.Context()); err != nil || time.Since(began) > readyPollInterval {
			t.Errorf("Await returned after %v with %v", time.Since(began), err)
		}
		if err := <-applied; err != nil {
			t.Fatal(err)
		}
		game.checkBoards(t)
	})
}

// brokenGameLedger is a ledger whose snapshot of one game fails.
type brokenGameLedger struct {
	*fakeLedger
	game string
}

func (l brokenGameLedger) Snapshot(ctx context.Context, game string, work func(Snapshot) error) error {
	if game == l.game {
		return errors.New("a row cannot be read")
	}
	return l.fakeLedger.Snapshot(ctx, game, work)
}

// A game that cannot be built keeps a node unready for at most a minute. Other games
// are not affected.
func TestAFailingBuildDelaysReadinessForAMinuteOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := weightedConfig(), weightedConfig()
		one.Game, two.Game = "one", "two"
		two.MinAnswers++
		store, ledger := newMemoryStore(), newFakeLedger()
		ledger.rollBack(0)
		applier := newTestApplier(brokenGameLedger{ledger, "one"}, store, one, two)
		testenv.Run(t, applier.Run)
		time.Sleep(maxFailingTime / 2)
		checkGamesNotReady(t, applier, "one")
		time.Sleep(maxFailingTime)
		checkGamesNotReady(t, applier)
		for game, want := range map[string]float64{"one": 1, "two": 0} {
			if failing := testutil.ToFloat64(applier.games[game].metrics.buildFailing); failing != want {
				t.Errorf("the metric build_failing of %s is %v, want %v", game, failing, want)
			}
		}
		reader := NewReader([]Config{one, two}, sortingSource{store}, NewArchive(ledger), applier.games["one"].now)
		if _, err := reader.Page(t.Context(), "one", Query{Window: All}); !errors.Is(err, ErrNotReady) {
			t.Errorf("the game that cannot be built: %v", err)
		}
		if _, err := reader.Page(t.Context(), "two", Query{Window: All}); err != nil {
			t.Errorf("the other game: %v", err)
		}
	})
}
