package ledger

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

func TestAHistoryEntryDescribesTheMatch(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		r := duel("m1", 99, "p1", "p2")
		r.CountsForLeaderboards = false // the history also has matches that do not count
		testenv.Need(l.Results.Commit(t.Context(), results(r)))(t)
		page, next, err := l.History.Matches(t.Context(), game, "p2", "", 10)
		want := []match.HistoryEntry{{Match: "m1", Mode: match.Duel, OverAt: 99, Rank: 2, Score: 150, Correct: 1, Players: 2}}
		if err != nil || next != "" || !slices.Equal(page, want) {
			t.Errorf("%+v, %q, %v, want %+v", page, next, err, want)
		}
		if page, _, err := l.History.Matches(t.Context(), "other", "p2", "", 10); err != nil || len(page) != 0 {
			t.Errorf("history in another game: %v, %v", page, err)
		}
	})
}

// Pages of any size return the history as it was at the first page, although newer
// matches are settled between the calls.
func TestHistoryPagesNeitherRepeatNorSkip(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l := openLedger(t, db)
		rapid.Check(t, func(rt *rapid.T) {
			deleteAllResults(t, l)
			ats := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 30).Draw(rt, "over at") // many at once
			ids := names("m", len(ats))
			var old []match.Result
			for i, at := range ats {
				old = append(old, duel(ids[i], at, "p1", "p2"))
			}
			testenv.Need(l.Results.Commit(t.Context(), old))(t)
			slices.SortFunc(old, func(a, b match.Result) int {
				return cmp.Or(cmp.Compare(b.OverAt, a.OverAt), cmp.Compare(b.Match, a.Match))
			})
			var got []string
			cursor := ""
			for n := 0; n == 0 || cursor != ""; n++ {
				limit := rapid.IntRange(1, 7).Draw(rt, "limit")
				page, next, err := l.History.Matches(t.Context(), game, "p1", cursor, limit)
				if err != nil || len(page) > limit || next != "" && len(page) != limit {
					rt.Fatalf("page %v, next %q, %v", page, next, err)
				}
				for _, p := range page {
					got = append(got, p.Match)
				}
				cursor = next
				testenv.Need(l.Results.Commit(t.Context(), results(duel(names("new", n+1)[n], 10, "p1"))))(t)
			}
			for i, r := range old {
				if len(got) != len(old) || got[i] != r.Match {
					rt.Fatalf("got %v, want %d matches with %s at %d", got, len(old), r.Match, i)
				}
			}
		})
	})
}

func TestAnInvalidHistoryCursorIsRefused(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	for _, cursor := range []string{"!", "MTIz", "eDpt", "MTI6", newCursor(0, "m 1")} {
		if _, _, err := l.History.Matches(t.Context(), game, "p1", cursor, 10); !errors.Is(err, match.ErrBadCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(newCursor(1, "m1"))
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		at, id, ok := parseTimeCursor(cursor)
		if !ok {
			return
		}
		again, same, ok := parseTimeCursor(newCursor(at, id))
		if cursor != "" && (!ok || again != at || same != id) {
			t.Errorf("%q: %d %q, again %d %q, %t", cursor, at, id, again, same, ok)
		}
	})
}
