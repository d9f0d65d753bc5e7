package redisboard_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

func TestDaysAreReadWhenTheirBoardsHaveLeft(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		w.addResults()
		w.apply(t, 0)
		for range 12 {
			w.ledger.startDay()
			w.apply(t, 0)
		}
		if got := w.page(t, 0, lb.Query{Window: lb.Day, Date: firstDay}); got.Total != 10 || got.To != firstDay {
			t.Fatalf("the first day's page: %+v", got)
		}
		if got := w.page(t, 0, lb.Query{Window: lb.Day, Date: before(firstDay, 1)}); got.Total != 0 {
			t.Fatalf("a day before the first: %+v", got)
		}
		tomorrow := lb.Query{Window: lb.Day, Date: before(w.ledger.today(), -1)}
		if _, err := w.nodes[0].reader.Page(t.Context(), w.cfg.Game, tomorrow); !errors.Is(err, lb.ErrBadQuery) {
			t.Fatalf("tomorrow: %v", err)
		}
		w.checkAll(t, 0, 4)
	})
}

func TestACursorStaysOnItsDay(t *testing.T) {
	eachCluster(t, 2, func(t *testing.T, w *testCluster) {
		w.addResults()
		w.apply(t, 0)
		q := lb.Query{Window: lb.Day, Limit: 6}
		first := w.page(t, 1, q)
		w.ledger.startDay()
		w.ledger.result("p3", newAggregates(2))
		w.apply(t, 0)
		q.Cursor = first.NextCursor
		if rest := w.page(t, 1, q); len(rest.Entries) != 4 || rest.To != first.To || rest.NextCursor != "" {
			t.Fatalf("the rest of %s: %+v", first.To, rest)
		}
		q.Cursor = ""
		if today := w.page(t, 1, q); today.Total != 1 || today.To != w.ledger.today() {
			t.Fatalf("today: %+v", today)
		}
		for _, foreign := range []lb.Query{
			{Window: lb.All, Cursor: first.NextCursor},
			{Window: "7d", Cursor: first.NextCursor},
			{Window: lb.Day, Kind: lb.Teams, Cursor: first.NextCursor},
			{Window: lb.Day, Order: lb.ByTime, Cursor: first.NextCursor},
			{Window: lb.Day, Date: w.ledger.today(), Cursor: first.NextCursor},
		} {
			if _, err := w.nodes[0].reader.Page(t.Context(), w.cfg.Game, foreign); !errors.Is(err, lb.ErrBadCursor) {
				t.Fatalf("%+v: %v", foreign, err)
			}
		}
	})
}

func TestAnEmptiedPageHasCursorsBack(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		for i := range 10 {
			w.ledger.result(fmt.Sprintf("p%d", i), newAggregates(1))
		}
		w.apply(t, 0)
		follow := func(limit int, cursor string) lb.Page {
			return w.page(t, 0, lb.Query{Window: lb.All, Order: lb.ByScore, Limit: limit, Cursor: cursor})
		}
		move := func(by int64) {
			for _, id := range []string{"p0", "p1", "p2"} {
				w.ledger.result(id, newAggregates(by))
			}
			w.apply(t, 0)
		}
		check := func(p lb.Page, want ...string) {
			t.Helper()
			var got []string
			for _, e := range p.Entries {
				got = append(got, e.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("a page of %v, want %v", got, want)
			}
		}
		ahead := follow(3, follow(3, "").NextCursor).PrevCursor
		move(0) // behind their equals: nobody is ahead of p3
		empty := follow(3, ahead)
		check(empty)
		check(follow(3, empty.NextCursor), "p3", "p4", "p5")

		behind := follow(7, "").NextCursor
		move(1) // to the top: nobody is behind p9
		empty = follow(3, behind)
		check(empty)
		check(follow(3, empty.PrevCursor), "p7", "p8", "p9")
	})
}

func TestCachedPagesAreStillRight(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		w.nodes = append(w.nodes, w.node(w.cfg, redisboard.CachePages(1<<40)))
		w.addResults()
		w.apply(t, 0)
		w.checkAll(t, 1, 3)
		old := w.page(t, 1, lb.Query{Window: lb.All})
		w.ledger.result("p0", newAggregates(5))
		w.apply(t, 0)
		if got := w.page(t, 1, lb.Query{Window: lb.All}); !reflect.DeepEqual(got, old) {
			t.Fatalf("the page was read again: %+v", got)
		}
		_, position, err := w.nodes[1].reader.WindowStandings(t.Context(), w.cfg.Game, []string{"p0"})
		if want := int64(len(w.ledger.allRows())); err != nil || position != want {
			t.Fatalf("window standings at %d: %v, want %d", position, err, want)
		}
	})
}

// Standings of more players than one page has agree with the pages.
func TestStandingsOfManyPlayers(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		ids := []string{"nobody"}
		for i := range 2*lb.MaxLimit + 1 {
			ids = append(ids, fmt.Sprint("p", i))
			w.ledger.result(ids[i+1], newAggregates(int64(i%100)))
		}
		w.apply(t, 0)
		o := newOracle(t, w.cfg, w.ledger.allRows())
		defer o.close(t)
		w.checkPlaces(t, o, 0, ids)
	})
}
