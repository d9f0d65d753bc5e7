package redisstore_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	lb "laststand/internal/leaderboard"

	"laststand/internal/testenv"
)

func TestInspectReturnsEntriesAndTheirKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		boardSet := fixture.begin(t, "a")
		if _, err := fixture.Inspect(t.Context(), boardSet, fixture.cfg.RankingOrders(), nil, nil); !errors.Is(err, lb.ErrStale) {
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
				testenv.NoError(t, fixture.rdb.HDel(t.Context(), key, ghost.ID).Err())
			}
		}
		boards, orders := []lb.Board{players("all"), players("7d.0")}, fixture.cfg.RankingOrders()
		ids := []string{"p0002", "nobody", "p0000", "ghost"}
		sizes := map[lb.SizeKey]int64{{Board: boards[0]}: 3, {Board: boards[1]}: 0}
		for _, order := range orders {
			sizes[lb.SizeKey{Board: boards[0], Order: order}], sizes[lb.SizeKey{Board: boards[1], Order: order}] = 4, 0
		}
		sizes[lb.SizeKey{Board: boards[0], Order: lb.ByAccuracy}], sizes[lb.SizeKey{Board: boards[0], Order: lb.ByTime}] = 3, 3
		inspected := map[lb.EntryKey]lb.InspectedEntry{}
		for _, entry := range []lb.BoardEntry{entries[2], entries[0]} {
			keys := map[lb.Order]float64{}
			for _, order := range orders {
				if lb.Rankable(order, entry.Aggregates, fixture.cfg.MinAnswers) {
					keys[order] = lb.Key(order, entry.Aggregates, fixture.cfg.Weights)
				}
			}
			inspected[lb.EntryKey{Board: boards[0], ID: entry.ID}] = lb.InspectedEntry{BoardEntry: entry, Keys: keys}
		}
		for _, requested := range [][]string{ids, nil} {
			got, err := fixture.Inspect(t.Context(), boardSet, orders, boards, requested)
			if requested == nil {
				inspected = map[lb.EntryKey]lb.InspectedEntry{}
			}
			if want := (lb.Inspection{Progress: tx.Progress, Sizes: sizes, Entries: inspected}); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("Inspect returned %+v, %v, want %+v", got, err, want)
			}
		}
	})
}
