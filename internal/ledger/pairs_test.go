package ledger

import (
	"fmt"
	"testing"
	"time"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// Duels of a pair above the limit do not count, however they are divided into commits. On
// the next day the limit applies anew. Other duels are not affected.
func TestDuelsAboveThePairLimitDoNotCount(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.Results.pairDuelLimits = map[string]int64{game: 2}
		addPlayer(t, l.Ledger, "p1")
		rated := func(id string, players ...string) match.Result { return ratedDuel(id, 1, players...) }
		arena := duel("arena", 1, "p1", "p2")
		arena.Mode = match.Survival
		batch := results(rated("m0", "p1", "p2"), rated("m1", "p2", "p1"), rated("m2", "p1", "p2"), arena, rated("m3", "p1", "p3"))
		for again := range 2 {
			for i, c := range testenv.Need(l.Results.Commit(t.Context(), batch))(t) {
				if want := i != 2; c.CountsForLeaderboards != want || c.IsNew != (again == 0) {
					t.Errorf("time %d: %+v, want counted %v", again, c, want)
				}
			}
		}
		p1 := testenv.Need(l.Players.Player(t.Context(), game, "p1"))(t)
		if p1.Totals.Matches != 4 || p1.RatedMatches != 3 {
			t.Errorf("p1 %+v", p1)
		}
		recorded, standing := testenv.Need(l.History.Match(t.Context(), game, "m2"))(t), standingsOf(t, l.Ledger, "m2")[0]
		if recorded.CountsForLeaderboards || standing.Rating != nil || batch[2].Standings[0].Rating == nil {
			t.Errorf("recorded %+v, committed %+v", recorded, batch[2])
		}
		for day, want := range []int64{2, 0} {
			l.setClock(t, int64(day)*dayMS) // the ledger has not started the second day yet
			if n := testenv.Need(l.Results.PairDuels(t.Context(), game, "p2", "p1"))(t); n != want {
				t.Errorf("%d duels on day %d, want %d", n, day, want)
			}
		}
		if done := testenv.Need(l.Results.Commit(t.Context(), results(rated("m4", "p1", "p2"))))(t); !done[0].CountsForLeaderboards {
			t.Errorf("the next day %+v", done)
		}
		testenv.Need(l.Days.SumDays(t.Context(), game))(t)
		var days int
		if err := l.readPool.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT day) FROM duel_pairs").Scan(&days); err != nil || days != 1 {
			t.Errorf("pairs of %d days are stored, %v", days, err)
		}
	})
}

// Several nodes commit duels of one pair at the same time. Exactly as many count as the
// limit allows.
func TestThePairLimitHoldsForConcurrentCommits(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		l.Results.pairDuelLimits = map[string]int64{game: 3}
		counted := make([]bool, 10)
		runConcurrently(len(counted), func(i int) {
			done, err := l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", i), 1, "p1", "p2")))
			if err != nil {
				t.Error(err)
				return
			}
			counted[i] = done[0].CountsForLeaderboards
		})
		n := 0
		for _, c := range counted {
			if c {
				n++
			}
		}
		if n != 3 || testenv.Need(l.Results.PairDuels(t.Context(), game, "p1", "p2"))(t) != 3 {
			t.Errorf("%d counted, want 3", n)
		}
	})
}
