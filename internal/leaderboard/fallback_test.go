package leaderboard

import (
	"errors"
	"testing"
)

func TestChangedWeightsAreServedAfterTheBuild(t *testing.T) {
	t.Parallel()
	old := newPlayedGame(t)
	cfg := old.cfg
	cfg.Weights, cfg.Windows = Weights{Score: 1000}, []Window{All, Day, "3d"}
	w := newTestNode(cfg, old.ledger, old.store)
	values := func(weights Weights) {
		t.Helper()
		p := w.page(t, Query{Window: All, Limit: MaxLimit})
		for _, e := range p.Entries {
			parts := old.ledger.expectedBoard(old.ledger.rowCount(), Players, "", "9")[e.ID].Aggregates
			if want := Value(parts, weights); e.Value != want {
				t.Errorf("%s has the value %d, want %d", e.ID, e.Value, want)
			}
		}
		s, err := w.reader.Standing(t.Context(), cfg.Game, StandingQuery{Window: All, Player: "x", Explain: true})
		if err != nil || s.Explain.Aggregates[0].Weight != weights.Score {
			t.Errorf("the standing is %+v, %v", s, err)
		}
		places, _, err := w.reader.WindowStandings(t.Context(), cfg.Game, []string{"x"})
		if err != nil || places["x"][All].Value != s.Value {
			t.Errorf("the window standings are %+v, %v", places, err)
		}
	}
	values(old.cfg.Weights) // before the new boards exist
	sums := 0
	w.ledger.beforeSum = func() {
		if sums++; sums > 10 {
			return
		}
		w.ledger.addResult(Players, "x", 5)
		w.apply(t)
		values(old.cfg.Weights)
		if _, err := w.reader.Page(t.Context(), cfg.Game, Query{Window: "3d"}); !errors.Is(err, ErrNotReady) {
			t.Errorf("a window that only the new configuration has: %v", err)
		}
		if l, err := w.reader.Listing(t.Context(), cfg.Game); err != nil || len(l.Windows) != len(old.cfg.Windows) {
			t.Errorf("the listing is %+v, %v", l, err)
		}
	}
	if err := w.build(t.Context()); err != nil || sums < 10 {
		t.Fatalf("built with %d sums: %v", sums, err)
	}
	w.apply(t)
	w.checkBoards(t)
	values(cfg.Weights)
	if p := w.page(t, Query{Window: "3d"}); p.Total == 0 {
		t.Error("the new window is empty")
	}
}

func TestACursorWorksWhileTheOldBoardsAreRead(t *testing.T) {
	t.Parallel()
	old := newPlayedGame(t)
	cfg := old.cfg
	cfg.MinAnswers++
	w := newTestNode(cfg, old.ledger, old.store)
	p := w.page(t, Query{Window: All, Limit: 2})
	if next := w.page(t, Query{Window: All, Limit: 2, Cursor: p.NextCursor}); len(next.Entries) != 2 {
		t.Errorf("the next page is %+v", next)
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reader.Page(t.Context(), cfg.Game, Query{Window: All, Cursor: p.NextCursor}); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a cursor of the old boards: %v", err)
	}
}

func TestNoFallbackWithoutAnyBoards(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	if _, err := w.reader.Page(t.Context(), w.cfg.Game, Query{Window: All}); !errors.Is(err, ErrNotReady) {
		t.Errorf("no boards: %v", err)
	}
	lost := errors.New("no store")
	w.store.beforeCall = func(method string) error {
		if method == "ServedConfigs" {
			return lost
		}
		return nil
	}
	if _, err := w.reader.Page(t.Context(), w.cfg.Game, Query{Window: All}); !errors.Is(err, lost) {
		t.Errorf("no store: %v", err)
	}
}
