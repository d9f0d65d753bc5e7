package ledger

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

// namesOf returns the names that were claimed between two times, as game/skeleton@time.
func (l *Ledger) namesOf(t *testing.T, from, to int64) (all []string) {
	t.Helper()
	err := l.Names.NamesBetween(t.Context(), from, to, func(game, skeleton string, at int64) {
		all = append(all, fmt.Sprintf("%s/%s@%d", game, skeleton, at))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Names of all games come in the order of their times, each once. That also holds if more
// names of one time exist than fit on a page.
func TestNamesBetweenReturnsNamesInOrderOfTime(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, nil)
		l.Names.pageSize = 3
		claim := func(game, id, skeleton string) {
			t.Helper()
			p := identity.NewPlayer{Game: game, ID: id, Nickname: skeleton, Skeleton: skeleton, JoinedAt: 7}
			if _, _, err := l.Players.EnsurePlayer(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		l.setClock(t, 1000)
		var want []string
		for i := range 4 {
			claim("a", fmt.Sprint("p", i), fmt.Sprint("ada", i))
			claim("b", fmt.Sprint("p", i), fmt.Sprint("ada", i))
		}
		for _, game := range []string{"a", "b"} {
			for i := range 4 {
				want = append(want, fmt.Sprintf("%s/ada%d@1000", game, i))
			}
		}
		l.setClock(t, 2000)
		claim("a", "p9", "grace")
		want = append(want, "a/grace@2000")
		for since, from := range map[int64]int{-1 << 62: 0, 0: 0, 1000: 0, 1001: 8, 2000: 8, 2001: 9} {
			if got := l.namesOf(t, since, math.MaxInt64); !slices.Equal(got, want[from:]) {
				t.Errorf("since %d: %v, want %v", since, got, want[from:])
			}
		}
		for to, n := range map[int64]int{999: 0, 1000: 8, 1999: 8, 2000: 9} {
			if got := l.namesOf(t, 0, to); !slices.Equal(got, want[:n]) {
				t.Errorf("to %d: %v, want %v", to, got, want[:n])
			}
		}
		l.setClock(t, 3000)
		testenv.NoError(t, l.Names.Rename(t.Context(), "a", "p0", "Z", "z"))
		if got := l.namesOf(t, 2000, math.MaxInt64); !slices.Equal(got, []string{"a/grace@2000", "a/z@3000"}) {
			t.Errorf("after a rename: %v", got)
		}
		if got, err := l.Now(t.Context()); err != nil || got != 3000 {
			t.Errorf("clock %d, %v", got, err)
		}
	})
}

func TestEachSkeletonReturnsAllNamesOfAGame(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		l.Names.pageSize = 3
		for n := range 8 { // so that the last page is sometimes full
			var want []string
			for i := range n {
				want = append(want, fmt.Sprintf("nickp%d", i))
			}
			var got []string
			if err := l.Names.EachSkeleton(t.Context(), game, func(s string) { got = append(got, s) }); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d names: %v, %v", n, got, err)
			}
			if count, err := l.Names.CountNames(t.Context(), game); err != nil || count != int64(n) {
				t.Errorf("%d names: counted %d, %v", n, count, err)
			}
			addPlayer(t, l, fmt.Sprint("p", n))
		}
		if count, err := l.Names.CountNames(t.Context(), "other"); err != nil || count != 0 {
			t.Errorf("another game has %d names, %v", count, err)
		}
	})
}

// EachSkeleton returns names of many scripts, whatever order the database has for them.
func TestEachSkeletonReturnsNamesOfAllScripts(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		l.Names.pageSize = 2
		want := map[string]bool{}
		for i, skeleton := range []string{"ada", "a da", "ada-", "Ada", "äda", "адa", "小明", "小 明", "a🎮", "-", "ß", "ss", "zz", "0", "\u00a0"} {
			p := identity.NewPlayer{Game: game, ID: fmt.Sprint("p", i), Nickname: skeleton, Skeleton: skeleton}
			if _, _, err := l.Players.EnsurePlayer(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			want[skeleton] = true
		}
		got := map[string]bool{}
		if err := l.Names.EachSkeleton(t.Context(), game, func(s string) { got[s] = true }); err != nil || len(got) != len(want) {
			t.Errorf("%d of %d names, %v", len(got), len(want), err)
		}
		got = map[string]bool{}
		if err := l.Names.NamesBetween(t.Context(), 0, math.MaxInt64, func(_, s string, _ int64) { got[s] = true }); err != nil || len(got) != len(want) {
			t.Errorf("%d of %d names of late, %v", len(got), len(want), err)
		}
	})
}

// The time of a name is the database's, whatever the clock of the claiming process shows.
func TestNamesHaveTheDatabasesTime(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		before := testenv.Need(l.Now(t.Context()))(t)
		addPlayer(t, l, "p1") // the request says that it is 1970
		after := testenv.Need(l.Now(t.Context()))(t)
		if got := l.namesOf(t, before, after); len(got) != 1 || time.UnixMilli(after).Year() < 2000 {
			t.Errorf("named between %d and %d: %v", before, after, got)
		}
	})
}
