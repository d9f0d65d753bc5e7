package leaderboard

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

func TestAPageSaysWhichDaysItHolds(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	today, first := w.ledger.day(), w.ledger.rows[0].Day
	for window, from := range map[Window]string{
		All: first, Day: today, "2d": addDays(today, -1), "5d": addDays(today, -4),
	} {
		if p := w.page(t, Query{Window: window}); p.From != from || p.To != today {
			t.Errorf("%s is from %s to %s, want %s to %s", window, p.From, p.To, from, today)
		}
	}
	w.ledger.startDays(1)
	w.ledger.startDays(1)
	w.apply(t) // the unserved board of 2d needs an eviction, so the served one begins a day early
	if p := w.page(t, Query{Window: "2d"}); p.From != today || p.To != addDays(today, 2) {
		t.Errorf("after the start of two days, 2d is from %s to %s", p.From, p.To)
	}
	w.maintain(t)
	if p := w.page(t, Query{Window: "2d"}); p.From != addDays(today, 1) || p.Total != 0 {
		t.Errorf("after the maintenance, 2d is from %s with %d entries", p.From, p.Total)
	}
}

func TestTeamsHaveBoardsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	for _, window := range w.cfg.Windows {
		for _, kind := range Kinds() {
			want := w.ledger.expectedBoard(w.ledger.rowCount(), kind, w.page(t, Query{Window: window}).From, w.ledger.day())
			p := w.page(t, Query{Window: window, Kind: kind, Limit: MaxLimit})
			if p.Total != int64(len(want)) || slices.ContainsFunc(entryIDs(p), func(id string) bool { return want[id].ID == "" }) {
				t.Errorf("%s of %s: %v, want %v", window, kind, entryIDs(p), want)
			}
		}
	}
	s, err := w.reader.Standing(t.Context(), w.cfg.Game, StandingQuery{Window: "5d", Kind: Teams, Player: "x", Order: ByScore})
	if err != nil || s.Score != 21 || s.Rank == 0 {
		t.Errorf("the team's standing is %+v, %v", s, err)
	}
	l, err := w.reader.Listing(t.Context(), w.cfg.Game)
	if err != nil || !slices.Equal(l.Kinds, Kinds()) || len(l.Windows) != len(w.cfg.Windows) || l.Day != w.ledger.day() {
		t.Errorf("the listing is %+v, %v", l, err)
	}
}

func TestACursorGoesOnWhenAWindowRolls(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	p := w.page(t, Query{Window: "5d", Limit: 2})
	seen := entryIDs(p)
	w.ledger.startDays(1)
	w.apply(t)
	for p.NextCursor != "" {
		p = w.page(t, Query{Window: "5d", Limit: 2, Cursor: p.NextCursor})
		seen = append(seen, entryIDs(p)...)
	}
	slices.Sort(seen)
	if len(slices.Compact(slices.Clone(seen))) != len(seen) || !slices.Contains(seen, "x") {
		t.Errorf("the pages have the entries %v", seen)
	}
}

// A truncated TopPage equals the answer to a query with a smaller limit.
func TestACutEqualsASmallerPage(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	w.playHistory(newRandom(4), 9, func() {})
	w.apply(t)
	for _, window := range w.cfg.Windows {
		for _, order := range w.cfg.Orders {
			for _, kind := range Kinds() {
				top, err := w.reader.Top(t.Context(), w.cfg.Game, Query{Window: window, Order: order, Kind: kind, Limit: 6, Cursor: "not read"})
				if err != nil {
					t.Fatal(err)
				}
				for limit := 1; limit <= 6; limit++ {
					want := w.page(t, Query{Window: window, Order: order, Kind: kind, Limit: limit})
					if got := top.Cut(limit); !reflect.DeepEqual(got, want) {
						t.Errorf("%s by %s cut at %d:\n%+v, want\n%+v", window, order, limit, got, want)
					}
				}
			}
		}
	}
	if _, err := w.reader.Top(t.Context(), w.cfg.Game, Query{Window: "9d"}); !errors.Is(err, ErrNoWindow) {
		t.Errorf("an unknown window: %v", err)
	}
}
