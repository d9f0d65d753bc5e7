package leaderboard

import (
	"errors"
	"testing"
)

func TestChangedWeightsAreServedAfterTheBuild(t *testing.T) {
	t.Parallel()
	oldNode := newPlayedGame(t)
	cfg := oldNode.cfg
	cfg.Weights, cfg.Windows = Weights{Score: 1000}, []Window{All, Day, "3d"}
	game := newTestNode(cfg, oldNode.ledger, oldNode.store)
	checkValues := func(weights Weights) {
		t.Helper()
		page := game.page(t, Query{Window: All, Limit: MaxLimit})
		for _, entry := range page.Entries {
			aggregates := oldNode.ledger.expectedBoard(oldNode.ledger.rowCount(), Players, "", "9")[entry.ID].Aggregates
			if want := Value(aggregates, weights); entry.Value != want {
				t.Errorf("%s has the value %d, want %d", entry.ID, entry.Value, want)
			}
		}
		standing, err := game.reader.Standing(t.Context(), cfg.Game, StandingQuery{Window: All, Player: "x", Explain: true})
		if err != nil || standing.Explain.Terms[0].Weight != weights.Score {
			t.Errorf("the standing is %+v, %v", standing, err)
		}
		standings, err := game.reader.WindowStandings(t.Context(), cfg.Game, []string{"x"})
		if err != nil || standings["x"][All].Value != standing.Value {
			t.Errorf("the window standings are %+v, %v", standings, err)
		}
	}
	checkValues(oldNode.cfg.Weights) // before the new boards exist
	sums := 0
	game.ledger.beforeEachSum = func() {
		if sums++; sums > 10 {
			return
		}
		game.ledger.addResult(Players, "x", 5)
		game.apply(t)
		checkValues(oldNode.cfg.Weights)
		if _, err := game.reader.Page(t.Context(), cfg.Game, Query{Window: "3d"}); !errors.Is(err, ErrNotReady) {
			t.Errorf("a window that only the new configuration has: %v", err)
		}
		if listing, err := game.reader.Listing(t.Context(), cfg.Game); err != nil || len(listing.Windows) != len(oldNode.cfg.Windows) {
			t.Errorf("the listing is %+v, %v", listing, err)
		}
	}
	if err := game.build(t.Context()); err != nil || sums < 10 {
		t.Fatalf("built with %d sums: %v", sums, err)
	}
	game.apply(t)
	game.checkBoards(t)
	checkValues(cfg.Weights)
	if page := game.page(t, Query{Window: "3d"}); page.Total == 0 {
		t.Error("the new window is empty")
	}
}

func TestACursorWorksWhileTheOldBoardsAreRead(t *testing.T) {
	t.Parallel()
	oldNode := newPlayedGame(t)
	cfg := oldNode.cfg
	cfg.MinAnswers++
	game := newTestNode(cfg, oldNode.ledger, oldNode.store)
	page := game.page(t, Query{Window: All, Limit: 2})
	if next := game.page(t, Query{Window: All, Limit: 2, Cursor: page.NextCursor}); len(next.Entries) != 2 {
		t.Errorf("the next page is %+v", next)
	}
	if err := game.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := game.reader.Page(t.Context(), cfg.Game, Query{Window: All, Cursor: page.NextCursor}); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a cursor of the old boards: %v", err)
	}
}

func TestReadersGetNotReadyWithoutAnyBoards(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	if _, err := game.reader.Page(t.Context(), game.cfg.Game, Query{Window: All}); !errors.Is(err, ErrNotReady) {
		t.Errorf("no boards: %v", err)
	}
	storeErr := errors.New("no store")
	game.store.beforeCall = func(method string) error {
		if method == "ServedConfig" {
			return storeErr
		}
		return nil
	}
	if _, err := game.reader.Page(t.Context(), game.cfg.Game, Query{Window: All}); !errors.Is(err, storeErr) {
		t.Errorf("no store: %v", err)
	}
}
