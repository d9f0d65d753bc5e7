package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func disqualify(t *testing.T, l *Ledger, id, player string) (count int) {
	t.Helper()
	return testenv.Need(l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: id, Player: player, Reason: "a bot", By: "op_1"}))(t)
}

// Corrections have the same result for the current day, for an ended day, for a day that
// is summed in part, and for a summed day.
func TestDisqualifyCorrectsResultsOfAnyDay(t *testing.T) {
	t.Parallel()
	for name, pages := range map[string]int{"open": -1, "sealed": 0, "half summed": 1, "summed": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
				t.Parallel()
				l := openWithClock(t, db, time.UTC)
				l.Days.sumPageSize = 3
				addPlayer(t, l.Ledger, "p1")
				testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2"), duel("m2", 2, "p1", "p2"))))(t)
				day := "1970-01-01"
				if pages >= 0 {
					l.setClock(t, dayMS)
					testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
					day = "1970-01-02"
				}
				for range pages {
					if d, over, err := l.Days.nextUnsummed(t.Context(), game); err != nil || over {
						testenv.Need(l.Days.sumNextPage(t.Context(), d))(t)
					}
				}
				if got := testenv.Need(l.Leaderboards.HasDaySums(t.Context(), game, "1970-01-01"))(t); got != (name == "summed") {
					t.Fatalf("summed %v", got)
				}
				head := readHead(t, l.Ledger)
				if done := disqualify(t, l.Ledger, "m2", "p1"); done != 1 {
					t.Errorf("done %+v at head %+v", done, head)
				}
				row := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, head.Pos, 10))(t)[0]
				want := leaderboard.Row{
					Pos: head.Pos + 1, ID: row.ID, Kind: leaderboard.CorrectionRow, Day: day, CommittedAt: row.CommittedAt, HolderKind: leaderboard.Players, Holder: "p1",
					Aggregates: leaderboard.Aggregates{Score: -300, TimeMS: -99_998, LimitMS: -150_000, Matches: -1, Asked: -10, Answered: -3, Correct: -2},
					TargetDay:  "1970-01-01", Newest: 2, NewestOfTargetDay: 2,
				}
				if row != want {
					t.Errorf("row %+v, want %+v", row, want)
				}
				testenv.Need(l.Days.SumDays(t.Context(), game))(t)
				sums := readDaySums(t, l.Ledger, "1970-01-01", leaderboard.Players)
				if len(sums) != 2 || sums[0].Aggregates.Matches != 1 || sums[0].Newest != 2 || sums[1].Aggregates.Matches != 2 || sums[1].Newest != 5 {
					t.Errorf("sums %+v", sums)
				}
				if p := testenv.Need(l.Players.Player(t.Context(), game, "p1"))(t); p.Totals.Matches != 1 || p.Totals.Score != 300 {
					t.Errorf("totals %+v", p.Totals)
				}
			})
		})
	}
}

// The version of a past day changes with a correction. It also differs after another
// correction in its place, or another end of the day, in a ledger that was rolled back.
func TestADayVersionIsNeverRepeated(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2"), duel("m2", 2, "p1", "p2"))))(t)
		l.setClock(t, dayMS)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		var seen []int64
		see := func() {
			seen = append(seen, testenv.Need(l.Leaderboards.DayVersion(t.Context(), game, "1970-01-01"))(t))
		}
		see()
		disqualify(t, l.Ledger, "m1", "p1")
		see()
		rollBackTo(t, l.Ledger, 6, "1970-01-02")
		disqualify(t, l.Ledger, "m2", "p1")
		see()
		rollBackTo(t, l.Ledger, 5, "1970-01-01")
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		see()
		slices.Sort(seen)
		if slices.Contains(seen, 0) || len(slices.Compact(seen)) != 4 {
			t.Errorf("versions %d", seen)
		}
	})
}

// rollBackTo changes the ledger to its state when its head had the given position, like a
// restored copy.
func rollBackTo(t *testing.T, l *Ledger, pos int64, day string) {
	t.Helper()
	for text, args := range map[string][]any{
		"DELETE FROM entries WHERE pos > $1":         {pos},
		"DELETE FROM corrections WHERE pos > $1":     {pos},
		"DELETE FROM days WHERE start_pos > $1":      {pos},
		"UPDATE ledger_heads SET pos = $1, day = $2": {pos, day},
		"UPDATE days SET version = $1":               {0},
	} {
		if _, err := l.exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// A repeated call and a call for a match that did not count correct nothing. A call for a
// whole match after one for a player corrects only the other players.
func TestARepeatedDisqualifyCorrectsNothing(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		r := duel("m1", 1, "p1", "p2", "p3")
		r.Teams = []match.TeamResult{{Rank: 1, ID: "red", Name: "Red", Score: 7}}
		r.Standings[0].Team = "red"
		uncounted := duel("m2", 2, "p1", "robot")
		uncounted.CountsForLeaderboards, uncounted.Standings[1].Bot = false, true
		bots := duel("m3", 3, "robot")
		bots.Standings[0].Bot = true
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m0", 0, "p1", "p2"), r, uncounted, bots, duel("m4", 4, "p1", "p2"))))(t)
		for _, c := range []struct {
			match, player string
			rows          int
			err           error
		}{
			{"m1", "p2", 1, nil}, {"m1", "p2", 0, nil},
			{"m1", "", 3, nil}, {"m1", "", 0, nil}, {"m1", "p1", 0, nil},
			{"m2", "", 0, nil}, {"m2", "p1", 0, nil}, {"m3", "", 0, nil},
			{"m1", "red", 0, match.ErrNotFound}, {"m1", "p4", 0, match.ErrNotFound}, {"m2", "robot", 0, match.ErrNotFound}, {"m5", "", 0, match.ErrNotFound},
		} {
			done, err := l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: c.match, Player: c.player, Reason: "r", By: "b"})
			if done != c.rows || !errors.Is(err, c.err) {
				t.Errorf("%+v: %+v, %v", c, done, err)
			}
		}
		var matches []int64
		for _, s := range readSnapshot(t, l) {
			matches = append(matches, s.Aggregates.Matches)
		}
		if !slices.Equal(matches, []int64{2, 2}) { // matches of p1 and p2: m0 and m4
			t.Errorf("matches left %v", matches)
		}
		if got := testenv.Need(l.Names.TeamNames(t.Context(), game, []string{"red"}))(t); got["red"] != "Red" {
			t.Errorf("names %v", got)
		}
	})
}

// The ledger stores the reason and the operator of each correction.
func TestCorrectionsStoreReasonAndOperator(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2"))))(t)
		disqualify(t, l, "m1", "")
		var n int
		err := l.readPool.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM corrections c JOIN entries e ON e.game = c.game AND e.pos = c.pos WHERE e.corrected_pos IN (2, 3) AND reason = 'a bot' AND corrected_by = 'op_1'").Scan(&n)
		if err != nil || n != 2 {
			t.Errorf("%d reasons, %v", n, err)
		}
	})
}

// Nodes correct the same matches while others commit and sum. Each entry is corrected
// once, and totals and sums equal what the entries say.
func TestConcurrentCorrectionsCorrectEachEntryOnce(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.Days.sumPageSize = 7
		ids := names("p", 6)
		for _, id := range ids {
			addPlayer(t, l.Ledger, id)
		}
		const matches = 40
		for i := range matches {
			testenv.Need(l.Results.Commit(t.Context(), results(duel(fmt.Sprint("old", i), 1, ids[i%6], ids[(i+1)%6]))))(t)
		}
		l.setClock(t, dayMS)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		runConcurrently(8, func(n int) {
			for i := range matches {
				var err error
				switch n % 4 {
				case 0, 1:
					_, err = l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: fmt.Sprint("old", (i*3+n)%(matches/2)), Reason: "r", By: "b"})
				case 2:
					_, err = l.Results.Commit(t.Context(), results(duel(fmt.Sprint("new", n, "-", i), 1, ids[i%6], ids[(i+2)%6])))
				case 3:
					_, err = l.Days.SumDays(t.Context(), game)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		rows := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 0, 10_000))(t)
		if want := 2 + 2*matches + matches + 4*matches; len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
		totals := map[string]leaderboard.Aggregates{}
		for i, r := range rows {
			if r.Pos != int64(i)+1 {
				t.Fatalf("position %d at place %d", r.Pos, i+1)
			}
			totals[r.Holder] = totals[r.Holder].Add(r.Aggregates)
		}
		for _, id := range ids {
			if got := testenv.Need(l.Players.Player(t.Context(), game, id))(t).Totals; got != totals[id] {
				t.Errorf("totals of %s %+v, want %+v", id, got, totals[id])
			}
		}
		checkSums(t, l.Ledger)
	})
}

// checkSums checks that table sums equals the sums that are computed from entries alone.
func checkSums(t *testing.T, l *Ledger) {
	t.Helper()
	var want []leaderboard.DaySum
	head := readHead(t, l)
	for _, kind := range leaderboard.Kinds() {
		holders := testenv.Need(l.Leaderboards.ReadHolders(t.Context(), game, kind, "", 10_000))(t)
		want = append(want, testenv.Need(l.Leaderboards.ReadSums(t.Context(), game, head.Pos, kind, holders))(t)...)
	}
	if got := readSnapshot(t, l); !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("sums\n%+v, the rows say\n%+v", got, want)
	}
}

// All players of a match with more players than maxBulkRows are corrected.
func TestDisqualifyCorrectsMorePlayersThanOneStatementHas(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		large := duel("m1", 1, names("p", maxBulkRows+1)...)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m0", 1, "p000"), large)))(t)
		if done := disqualify(t, l, "m1", ""); done != maxBulkRows+1 {
			t.Errorf("done %+v", done)
		}
		if sums := readSnapshot(t, l); len(sums) != 1 || sums[0].Holder != "p000" || sums[0].Newest != 2 {
			t.Errorf("left %+v", sums)
		}
	})
}
