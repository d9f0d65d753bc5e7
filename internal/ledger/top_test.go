package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

// The top lists of an ended day are the same before it is summed and after.
func TestTopListsAreTheSameBeforeAndAfterSumming(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		addPlayer(t, l.Ledger, "p1")
		addPlayer(t, l.Ledger, "p3")
		first := duel("m1", 1, "p1", "p2")
		first.Teams = []match.TeamResult{{Rank: 1, ID: "t1", Name: "Team", Score: 42}}
		first.Standings[0].Team = "t1"
		testenv.Need(l.Results.Commit(t.Context(), results(first, duel("m2", 1, "p3", "p2"), duel("m3", 1, "p4"), duel("m4", 1, "p5", "p1"))))(t)
		testenv.Need(l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: "m3", Reason: "bots", By: "op"}))(t)
		l.setClock(t, 24*3600*1000)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m5", 1, "p6"))))(t)
		for range 2 {
			l.wantTop(t, leaderboard.Players, 4, "1 p1 Nick p1 450", "2 p3 Nick p3 300", "2 p2  300")
			l.wantTop(t, leaderboard.Teams, 1, "1 t1 Team 42")
			testenv.Need(l.Days.SumDays(t.Context(), game))(t)
		}
	})
}

// wantTop checks the first three of the first day.
func (c clockLedger) wantTop(t *testing.T, kind leaderboard.Kind, total int64, want ...string) {
	t.Helper()
	lists := leaderboard.NewTopLists([]leaderboard.Config{{Game: game, Weights: leaderboard.DefaultWeights}}, c.Leaderboards, c.Names)
	top, ranked, err := lists.Top(t.Context(), game, "1970-01-01", kind, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range top {
		got = append(got, fmt.Sprint(e.Rank, " ", e.ID, " ", e.Nickname, " ", e.Value))
	}
	if ranked != total || !slices.Equal(got, want) {
		t.Errorf("%q of %d, want %q of %d", got, ranked, want, total)
	}
}
