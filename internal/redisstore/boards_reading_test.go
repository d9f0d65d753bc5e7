package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	lb "laststand/internal/leaderboard"
)

func TestDaysAreReadAfterTheirBoardsAreDeleted(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		cluster.addResults()
		cluster.apply(t, 0)
		for range 12 {
			cluster.ledger.startDay()
			cluster.apply(t, 0)
		}
		if got := cluster.page(t, 0, lb.Query{Window: lb.Day, Date: firstDay}); got.Total != 10 || got.To != firstDay {
			t.Fatalf("the first day's page: %+v", got)
		}
		if got := cluster.page(t, 0, lb.Query{Window: lb.Day, Date: daysBefore(firstDay, 1)}); got.Total != 0 {
			t.Fatalf("a day before the first: %+v", got)
		}
		tomorrow := lb.Query{Window: lb.Day, Date: daysBefore(cluster.ledger.today(), -1)}
		if _, err := cluster.nodes[0].reader.Page(t.Context(), cluster.cfg.Game, tomorrow); !errors.Is(err, lb.ErrBadQuery) {
			t.Fatalf("tomorrow: %v", err)
		}
		cluster.checkAll(t, 0, 4)
	})
}

func TestACursorStaysOnItsDay(t *testing.T) {
	eachTestCluster(t, 2, func(t *testing.T, cluster *testCluster) {
		cluster.addResults()
		cluster.apply(t, 0)
		query := lb.Query{Window: lb.Day, Limit: 6}
		first := cluster.page(t, 1, query)
		cluster.ledger.startDay()
		cluster.ledger.addPlayerResult("p3", newAggregates(2))
		cluster.apply(t, 0)
		query.Cursor = first.NextCursor
		if rest := cluster.page(t, 1, query); len(rest.Entries) != 4 || rest.To != first.To || rest.NextCursor != "" {
			t.Fatalf("the rest of %s: %+v", first.To, rest)
		}
		query.Cursor = ""
		if today := cluster.page(t, 1, query); today.Total != 1 || today.To != cluster.ledger.today() {
			t.Fatalf("today: %+v", today)
		}
		for _, foreign := range []lb.Query{
			{Window: lb.All, Cursor: first.NextCursor},
			{Window: "7d", Cursor: first.NextCursor},
			{Window: lb.Day, Kind: lb.Teams, Cursor: first.NextCursor},
			{Window: lb.Day, Order: lb.ByTime, Cursor: first.NextCursor},
			{Window: lb.Day, Date: cluster.ledger.today(), Cursor: first.NextCursor},
		} {
			if _, err := cluster.nodes[0].reader.Page(t.Context(), cluster.cfg.Game, foreign); !errors.Is(err, lb.ErrBadCursor) {
				t.Fatalf("%+v: %v", foreign, err)
			}
		}
	})
}

func TestAnEmptyPageHasACursorBack(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		for i := range 10 {
			cluster.ledger.addPlayerResult(fmt.Sprintf("p%d", i), newAggregates(1))
		}
		cluster.apply(t, 0)
		readPage := func(limit int, cursor string) lb.Page {
			return cluster.page(t, 0, lb.Query{Window: lb.All, Order: lb.ByScore, Limit: limit, Cursor: cursor})
		}
		addThreeResults := func(correct int64) {
			for _, id := range []string{"p0", "p1", "p2"} {
				cluster.ledger.addPlayerResult(id, newAggregates(correct))
			}
			cluster.apply(t, 0)
		}
		check := func(page lb.Page, want ...string) {
			t.Helper()
			var got []string
			for _, entry := range page.Entries {
				got = append(got, entry.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("the page has %v, want %v", got, want)
			}
		}
		cursorToBetter := readPage(3, readPage(3, "").NextCursor).PrevCursor
		addThreeResults(0) // p0 to p2 now rank after the players with equal scores: nobody ranks before p3
		empty := readPage(3, cursorToBetter)
		check(empty)
		check(readPage(3, empty.NextCursor), "p3", "p4", "p5")

		cursorToWorse := readPage(7, "").NextCursor
		addThreeResults(1) // p0 to p2 now rank first: nobody ranks after p9
		empty = readPage(3, cursorToWorse)
		check(empty)
		check(readPage(3, empty.PrevCursor), "p7", "p8", "p9")
	})
}

// Standings of more players than one page has agree with the pages.
func TestWindowStandingsOfManyPlayersAreCorrect(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		ids := []string{"nobody"}
		for i := range 2*lb.MaxLimit + 1 {
			ids = append(ids, fmt.Sprint("p", i))
			cluster.ledger.addPlayerResult(ids[i+1], newAggregates(int64(i%100)))
		}
		cluster.apply(t, 0)
		reference := newOracle(t, cluster.cfg, cluster.ledger.allRows())
		defer reference.close(t)
		cluster.checkWindowStandings(t, reference, 0, ids)
	})
}
