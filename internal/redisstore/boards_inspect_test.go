package redisstore_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"
)

func TestInspectReturnsEntriesAndTheirKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		boardSet := fixture.begin(t, "a")
		if _, err := fixture.Inspect(t.Context(), boardSet, fixture.cfg.RankingOrders(), nil); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("inspecting a board set that is being loaded: %v", err)
		}
		entries := manyEntries(3)
		entries[2].Aggregates = lb.Aggregates{Score: 7, Matches: 1, Asked: 3} // too few questions for the orders accuracy and time
		// ghost is ranked but has no entry.
		ghost := lb.BoardEntry{ID: "ghost", Newest: 9, Aggregates: newAggregates(1)}
		tx := fixture.transaction(10, put(players("all"), append(entries, ghost)...))
		tx.Rolling = map[lb.Window]lb.RollingBoards{"7d": {FirstDays: [2]string{"2026-11-14", "2026-11-15"}}}
		fixture.commit(t, tx)
		for _, key := range fixture.allKeys(t) {
			if strings.HasSuffix(key, ":parts") {
				if err := fixture.rdb.HDel(t.Context(), key, ghost.ID).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		requests := []lb.EntryRequest{
			{Board: players("all"), IDs: []string{"p0002", "nobody", "p0000", "ghost"}},
			{Board: players("7d.0"), IDs: []string{"p0000"}},
			{Board: players("all")},
		}
		got, err := fixture.Inspect(t.Context(), boardSet, fixture.cfg.RankingOrders(), requests)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Progress, tx.Progress) || len(got.Boards) != 3 {
			t.Fatalf("Inspect returned the progress %+v, want %+v", got.Progress, tx.Progress)
		}
		rankedCounts := map[lb.Order]int64{lb.ByValue: 4, lb.ByScore: 4, lb.ByMatches: 4, lb.ByAccuracy: 3, lb.ByTime: 3}
		zeroCounts := map[lb.Order]int64{lb.ByValue: 0, lb.ByScore: 0, lb.ByMatches: 0, lb.ByAccuracy: 0, lb.ByTime: 0}
		inspected := make([]lb.InspectedEntry, 2)
		for i, entry := range []lb.BoardEntry{entries[2], entries[0]} {
			inspected[i] = lb.InspectedEntry{BoardEntry: entry, Keys: map[lb.Order]float64{}}
			for _, order := range fixture.cfg.RankingOrders() {
				if lb.Rankable(order, entry.Aggregates, fixture.cfg.MinAnswers) {
					inspected[i].Keys[order] = lb.Key(order, entry.Aggregates, fixture.cfg.Weights)
				}
			}
		}
		want := []lb.InspectedBoard{
			{BoardSize: 3, Entries: inspected, RankedCounts: rankedCounts}, {RankedCounts: zeroCounts}, {BoardSize: 3, RankedCounts: rankedCounts},
		}
		if !reflect.DeepEqual(got.Boards, want) {
			t.Fatalf("Inspect returned the boards %+v, want %+v", got.Boards, want)
		}
	})
}
