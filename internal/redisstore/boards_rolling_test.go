package redisstore_test

import (
	"testing"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
)

// A rolling window is read from its served board. A node notices when the other board of the
// window is served.
func TestARollingWindowIsReadFromTheServedBoard(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		fixture.begin(t, "a")
		empty := fixture.transaction(1)
		empty.Watermark, empty.FirstDay, empty.OldestDay = lb.Watermark{Epoch: "e1"}, "", ""
		fixture.commit(t, empty)
		fixture.publish(t)
		otherStore := redisstore.NewBoards(fixture.rdb)
		check := func(store *redisstore.Boards, total int64, from, span string) {
			t.Helper()
			rankingID := fixture.rankingID(span)
			slice, err := store.ReadSlice(t.Context(), rankingID, lb.SliceRequest{Anchor: lb.Top, Limit: 9})
			if err != nil || slice.Total != total || len(slice.Entries) != int(total) || slice.WindowFirstDay != from || slice.Span != span {
				t.Fatalf("%s: read %+v, %v, want %d from %q", span, slice, err, total, from)
			}
			for span, want := range map[string]lb.BoardState{span: slice.BoardState, "all": {LedgerPos: slice.LedgerPos, LedgerDay: slice.LedgerDay, FirstDay: slice.FirstDay, OldestDay: slice.OldestDay, Span: "all"}} {
				result, err := store.ReadStandings(t.Context(), fixture.rankingID(span), lb.StandingsRequest{IDs: []string{"p0000"}})
				if err != nil || result.BoardState != want {
					t.Fatalf("%s: standings %+v, %v, want %+v", span, result, err, want)
				}
			}
		}
		check(otherStore, 0, "", "7d")
		commitRolling := func(pos int64, boards lb.RollingBoards, changes ...boardChange) {
			t.Helper()
			tx := fixture.transaction(pos, changes...)
			tx.Rolling = map[lb.Window]lb.RollingBoards{"7d": boards, "2d": {FirstDays: [2]string{"2026-11-19", "2026-11-20"}}}
			fixture.commit(t, tx)
		}
		boards := lb.RollingBoards{FirstDays: [2]string{"2026-11-14", "2026-11-15"}}
		commitRolling(10, boards, put(players("7d.0"), manyEntries(3)...), put(players("7d.1"), manyEntries(2)...), put(players("2d.0"), manyEntries(1)...))
		for range 2 {
			check(otherStore, 3, "2026-11-14", "7d")
			check(otherStore, 1, "2026-11-19", "2d")
		}
		boards.Served = 1
		commitRolling(11, boards)
		check(otherStore, 2, "2026-11-15", "7d")
		boards.Cursor[0] = 2
		commitRolling(12, boards, remove(players("7d.0"), manyEntries(2)...))
		check(otherStore, 2, "2026-11-15", "7d")
		boards = lb.RollingBoards{FirstDays: [2]string{"2026-11-16", "2026-11-15"}}
		commitRolling(13, boards)
		check(otherStore, 1, "2026-11-16", "7d")
		check(fixture.Boards, 1, "2026-11-16", "7d")
		unserved, err := fixture.ReadSlice(t.Context(), fixture.rankingID(lb.RollingSpan("7d", 1)), lb.SliceRequest{Anchor: lb.Top})
		if err != nil || unserved.Total != 2 || unserved.Span != "7d.1" {
			t.Fatalf("the unserved board: %+v, %v", unserved, err)
		}
	})
}
