package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func addArena(t testing.TB, l *Ledger, id, host string) {
	t.Helper()
	r := arena.Record{Game: game, Match: id, Host: host, Name: "Cup of " + host, Mode: match.Race}
	testenv.NoError(t, l.Arenas.AddArena(t.Context(), r))
}

// A host finds the own arenas, newest first, in pages, whether they are settled or not.
// Arenas of other hosts are not among them.
func TestAHostsArenasAreListedInPages(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		var want []arena.Record
		for i := range 7 {
			l.setClock(t, int64(1000+i/2)) // some were created in the same millisecond
			r := arena.Record{Game: game, Match: fmt.Sprint("m_", i), Host: "hana", Name: "Cup of hana", Mode: match.Race, CreatedAt: int64(1000 + i/2)}
			addArena(t, l.Ledger, r.Match, r.Host)
			addArena(t, l.Ledger, fmt.Sprint("m_other", i), "other")
			if i%3 == 0 {
				testenv.Need(l.Results.Commit(t.Context(), results(duel(r.Match, 2000, "a", "b"))))(t)
				r.IsSettled, r.Players = true, 2
			}
			want = append(want, r)
		}
		slices.Reverse(want)
		l.setClock(t, 9999)
		addArena(t, l.Ledger, "m_3", "hana") // a repeated call
		var got []arena.Record
		for cursor, pages := "", 0; ; pages++ {
			page, next, err := l.Arenas.ArenasOf(t.Context(), game, "hana", cursor, 3)
			if err != nil || pages > 3 {
				t.Fatalf("page %d: %v", pages, err)
			}
			got = append(got, page...)
			if cursor = next; cursor == "" {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant %+v", got, want)
		}
		found, err := l.Arenas.Arena(t.Context(), game, "m_1")
		if err != nil || found != want[5] {
			t.Errorf("%+v, %v", found, err)
		}
		for _, key := range [][2]string{{game, "m_9"}, {"other", "m_1"}} {
			if _, err := l.Arenas.Arena(t.Context(), key[0], key[1]); !errors.Is(err, match.ErrNotFound) {
				t.Errorf("%v: %v", key, err)
			}
		}
		if _, _, err := l.Arenas.ArenasOf(t.Context(), game, "hana", "bad", 3); !errors.Is(err, match.ErrBadCursor) {
			t.Errorf("a bad cursor: %v", err)
		}
	})
}

// A record is deleted after its match, whether there was one or not.
func TestOldArenasAreDeleted(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithRetention(t, db)
		for i := range 2*deletedMatches + 3 {
			addArena(t, l.Ledger, fmt.Sprint("m_", i), "hana")
		}
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m_0", dayMS, "a", "b"))))(t)
		l.setClock(t, 5*dayMS)
		addArena(t, l.Ledger, "m_new", "hana")
		for _, step := range []struct {
			day  int64
			want int
		}{{22, 2*deletedMatches + 4}, {23, 1}, {28, 0}} {
			l.setClock(t, step.day*dayMS)
			testenv.Need(l.OldMatches.DeleteOld(t.Context(), game))(t)
			if left := matchesLeft(t, l.Ledger, "arenas", "match_id"); len(left) != step.want {
				t.Errorf("day %d: %d arenas are left, want %d", step.day, len(left), step.want)
			}
		}
	})
}
