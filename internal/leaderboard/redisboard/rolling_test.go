package redisboard_test

import (
	"testing"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

// A rolling window is read from the board that is served, also by a node that
// saw another one served before.
func TestARollingWindowIsReadFromTheServedBoard(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		s.begin(t, "a", "")
		empty := s.step(1)
		empty.Mark, empty.First, empty.Oldest = lb.Watermark{Epoch: "e1"}, "", ""
		s.commit(t, empty)
		s.publish(t)
		other := redisboard.New(s.rdb)
		check := func(store *redisboard.Store, total int64, from, span string) {
			t.Helper()
			v := s.view(span)
			slice, err := store.ReadSlice(t.Context(), v, lb.Cut{From: lb.Top, Limit: 9})
			if err != nil || slice.Total != total || len(slice.Rows) != int(total) || slice.From != from || slice.Span != span {
				t.Fatalf("%s: read %+v, %v, want %d from %q", span, slice, err, total, from)
			}
			places, err := store.ReadStandings(t.Context(), []lb.StandingsRequest{{View: v, IDs: []string{"p0000"}}, {View: s.view("all"), IDs: []string{"p0000"}}})
			if err != nil || places[0].BoardState != slice.BoardState || places[1].Total != 0 || places[1].From != "" {
				t.Fatalf("%s: standings %+v, %v, want %+v", span, places, err, slice.BoardState)
			}
		}
		check(other, 0, "", "7d")
		roll := func(pos int64, r lb.RollingBoards, changes ...lb.Change) {
			t.Helper()
			step := s.step(pos, changes...)
			step.Rolling = map[lb.Window]lb.RollingBoards{"7d": r, "2d": {FirstDay: [2]string{"2026-11-19", "2026-11-20"}}}
			s.commit(t, step)
		}
		r := lb.RollingBoards{FirstDay: [2]string{"2026-11-14", "2026-11-15"}}
		roll(10, r, s.addEntries(players("7d.0"), manyEntries(3)...), s.addEntries(players("7d.1"), manyEntries(2)...), s.addEntries(players("2d.0"), manyEntries(1)...))
		for range 2 {
			check(other, 3, "2026-11-14", "7d")
			check(other, 1, "2026-11-19", "2d")
		}
		r.Served = 1
		roll(11, r)
		check(other, 2, "2026-11-15", "7d")
		r.Cursor[0] = 2
		roll(12, r, s.removeEntries(players("7d.0"), manyEntries(2)...))
		check(other, 2, "2026-11-15", "7d")
		r = lb.RollingBoards{FirstDay: [2]string{"2026-11-16", "2026-11-15"}}
		roll(13, r)
		check(other, 1, "2026-11-16", "7d")
		check(s.Store, 1, "2026-11-16", "7d")
		slot, err := s.ReadSlice(t.Context(), s.view(lb.RollingSpan("7d", 1)), lb.Cut{From: lb.Top})
		if err != nil || slot.Total != 2 || slot.Span != "7d.1" {
			t.Fatalf("the unserved board: %+v, %v", slot, err)
		}
	})
}
