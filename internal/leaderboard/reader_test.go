package leaderboard

import (
	"reflect"
	"slices"
	"testing"
)

func TestAPageReturnsItsFirstAndLastDay(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	today, first := game.ledger.day(), game.ledger.rows[0].Day
	for window, from := range map[Window]string{
		All: first, Day: today, "2d": addDays(today, -1), "5d": addDays(today, -4),
	} {
		if page := game.page(t, Query{Window: window}); page.From != from || page.To != today {
			t.Errorf("%s is from %s to %s, want %s to %s", window, page.From, page.To, from, today)
		}
	}
	game.ledger.startDays(1)
	game.ledger.startDays(1)
	game.apply(t) // the unserved board of 2d needs an eviction, so the served one begins a day early
	if page := game.page(t, Query{Window: "2d"}); page.From != today || page.To != addDays(today, 2) {
		t.Errorf("after the start of two days, 2d is from %s to %s", page.From, page.To)
	}
	game.maintain(t)
	if page := game.page(t, Query{Window: "2d"}); page.From != addDays(today, 1) || page.Total != 0 {
		t.Errorf("after the maintenance, 2d is from %s with %d entries", page.From, page.Total)
	}
}

func TestTeamsAndPlayersHaveSeparateBoards(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	for _, window := range game.cfg.Windows {
		for _, kind := range Kinds() {
			want := game.ledger.expectedBoard(game.ledger.rowCount(), kind, game.page(t, Query{Window: window}).From, game.ledger.day())
			page := game.page(t, Query{Window: window, Kind: kind, Limit: MaxLimit})
			if page.Total != int64(len(want)) || slices.ContainsFunc(entryIDs(page), func(id string) bool { return want[id].ID == "" }) {
				t.Errorf("%s of %s: %v, want %v", window, kind, entryIDs(page), want)
			}
		}
	}
	standing, err := game.reader.Standing(t.Context(), game.cfg.Game, StandingQuery{Window: "5d", Kind: Teams, Player: "x", Order: ByScore})
	if err != nil || standing.Score != 21 || standing.Rank == 0 {
		t.Errorf("the team's standing is %+v, %v", standing, err)
	}
	listing, err := game.reader.Listing(t.Context(), game.cfg.Game)
	if err != nil || !slices.Equal(listing.Kinds, Kinds()) || len(listing.Windows) != len(game.cfg.Windows) || listing.Day != game.ledger.day() {
		t.Errorf("the listing is %+v, %v", listing, err)
	}
}

func TestACursorSkipsNoEntryWhenADayStarts(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	page := game.page(t, Query{Window: "5d", Limit: 2})
	seenIDs := entryIDs(page)
	game.ledger.startDays(1)
	game.apply(t)
	for page.NextCursor != "" {
		page = game.page(t, Query{Window: "5d", Limit: 2, Cursor: page.NextCursor})
		seenIDs = append(seenIDs, entryIDs(page)...)
	}
	slices.Sort(seenIDs)
	if len(slices.Compact(slices.Clone(seenIDs))) != len(seenIDs) || !slices.Contains(seenIDs, "x") {
		t.Errorf("the pages have the entries %v", seenIDs)
	}
}

// A truncated page equals the answer to a query with a smaller limit.
func TestATruncatedPageEqualsASmallerPage(t *testing.T) {
	t.Parallel()
	game := newTestGame(weightedConfig())
	game.playHistory(newRandom(4), 9, func() {})
	game.apply(t)
	for _, window := range game.cfg.Windows {
		for _, order := range game.cfg.Orders {
			for _, kind := range Kinds() {
				top := game.page(t, Query{Window: window, Order: order, Kind: kind, Limit: 6})
				for limit := 1; limit <= 6; limit++ {
					want := game.page(t, Query{Window: window, Order: order, Kind: kind, Limit: limit})
					if got := top.truncate(limit); !reflect.DeepEqual(got, want) {
						t.Errorf("%s by %s cut at %d:\n%+v, want\n%+v", window, order, limit, got, want)
					}
				}
			}
		}
	}
}

// A page can be empty because the entries behind its cursor have moved. The page beside it
// begins or ends with the entry of the cursor.
func TestThePageBesideAnEmptyOneHasTheEntryAtItsEdge(t *testing.T) {
	t.Parallel()
	game := newPlayedGame(t)
	all := game.page(t, Query{Window: All})
	first, last := all.rows[0], all.rows[len(all.rows)-1]
	empty := game.page(t, Query{Window: All, Limit: 2, Cursor: cursor{all.rankingID, After, last.edge()}.String()})
	if len(empty.Entries) != 0 || empty.NextCursor != "" {
		t.Errorf("after the last entry: %+v", empty)
	}
	if ids, want := entryIDs(game.page(t, Query{Window: All, Limit: 2, Cursor: empty.PrevCursor})), entryIDs(all)[len(all.rows)-2:]; !slices.Equal(ids, want) {
		t.Errorf("before the empty page: %v, want %v", ids, want)
	}
	empty = game.page(t, Query{Window: All, Limit: 2, Cursor: cursor{all.rankingID, Before, first.edge()}.String()})
	if len(empty.Entries) != 0 || empty.PrevCursor != "" {
		t.Errorf("before the first entry: %+v", empty)
	}
	if ids, want := entryIDs(game.page(t, Query{Window: All, Limit: 2, Cursor: empty.NextCursor})), entryIDs(all)[:2]; !slices.Equal(ids, want) {
		t.Errorf("after the empty page: %v, want %v", ids, want)
	}
}
