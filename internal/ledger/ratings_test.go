package ledger

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// ratedDuel returns a duel that the first player has won. Its provisional ratings differ
// much from those that the ledger will compute.
func ratedDuel(id string, overAt int64, players ...string) match.Result {
	r := duel(id, overAt, players...)
	r.Rate(func(match.Standing) match.Rating { return match.Rating{R: 900, RD: 33, Sigma: 0.06} })
	return r
}

// ratingsAfterDuel returns the ratings of a winner and a loser after their duel.
func ratingsAfterDuel(winner, loser match.Rating) (won, lost match.Rating) {
	return match.UpdateRating(winner, []match.RatedGame{{Opponent: loser, Score: 1}}),
		match.UpdateRating(loser, []match.RatedGame{{Opponent: winner, Score: 0}})
}

func sameRating(a, b match.Rating) bool {
	return math.Abs(a.R-b.R) < 1e-9 && math.Abs(a.RD-b.RD) < 1e-9 && math.Abs(a.Sigma-b.Sigma) < 1e-9
}

func wantRating(t *testing.T, l *Ledger, player string, want match.Rating, rated int64) {
	t.Helper()
	p := testenv.Need(l.Players.Player(t.Context(), game, player))(t)
	if !sameRating(p.Rating, want) || p.RatedMatches != rated {
		t.Errorf("%s has %+v after %d, want %+v after %d", player, p.Rating, p.RatedMatches, want, rated)
	}
	if rated == 0 {
		want = match.DefaultRating()
	}
	if seat := testenv.Need(l.Players.Seat(t.Context(), game, player))(t); seat.Player != player || seat.Nickname != p.Nickname || !sameRating(*seat.Rating, want) {
		t.Errorf("%s gets the seat %+v", player, seat)
	}
}

// Results of a batch are rated one after another, from the ratings in the ledger. The
// ratings in the results are provisional. The records, and the tasks that report the
// results, have the ratings of the ledger.
func TestRatingsAreComputedInTheCommit(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for _, p := range []string{"p1", "p2", "p3"} {
			addPlayer(t, l, p)
		}
		uncounted := ratedDuel("m2", 2, "p3", "p1")
		uncounted.CountsForLeaderboards = false
		batch := results(ratedDuel("m1", 1, "p1", "p2"), uncounted, duel("m3", 3, "p1", "p2"), ratedDuel("m4", 4, "p1", "p2"))
		p1, p2 := ratingsAfterDuel(match.DefaultRating(), match.DefaultRating())
		first := p1
		p3, p1 := ratingsAfterDuel(match.DefaultRating(), p1)
		beforeLast := p1
		p1, p2 = ratingsAfterDuel(p1, p2)
		for attempt := range 2 { // the second time changes nothing
			done := testenv.Need(l.Results.Commit(t.Context(), batch))(t)
			wantRating(t, l, "p1", p1, 3)
			wantRating(t, l, "p2", p2, 2)
			wantRating(t, l, "p3", p3, 1)
			s := done[3].Standings
			if len(s) != 2 || s[0].Rating.Before.Rounded() != beforeLast.Rounded() || s[0].Rating.After.Rounded() != p1.Rounded() {
				t.Errorf("commit %d: the last result has the standings %+v", attempt, s)
			}
			if done[2].Standings != nil {
				t.Errorf("commit %d: a match without ratings has the standings %+v", attempt, done[2].Standings)
			}
		}
		if s := standingsOf(t, l, "m1"); *s[0].Rating != first.Rounded() || *s[0].RatingDelta != first.Rounded()-1500 {
			t.Errorf("recorded %+v", s[0])
		}
		if s := standingsOf(t, l, "m3"); s[0].Rating != nil {
			t.Errorf("a match without ratings is recorded with %+v", s[0])
		}
		if batch[0].Standings[0].Rating.Before.R != 900 {
			t.Error("the results given were changed")
		}
	})
}

// A late result, for example a dead letter that is retried, changes the newest rating. It
// does not restore an old one.
func TestALateResultChangesTheNewestRating(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, "p1")
		addPlayer(t, l, "p2")
		p1, p2 := match.DefaultRating(), match.DefaultRating()
		for i := range 4 {
			testenv.Need(l.Results.Commit(t.Context(), results(ratedDuel(fmt.Sprint("m", i+2), int64(i+2), "p1", "p2"))))(t)
			p1, p2 = ratingsAfterDuel(p1, p2)
		}
		lost := duel("m1", 1, "p2", "p1")
		lost.Rate(func(match.Standing) match.Rating { return match.DefaultRating() }) // as it was on the day
		testenv.Need(l.Results.Commit(t.Context(), results(lost)))(t)
		p2, p1 = ratingsAfterDuel(p2, p1)
		wantRating(t, l, "p1", p1, 5)
		wantRating(t, l, "p2", p2, 5)
	})
}

// A duel against an erased opponent still counts, with the opponent's provisional rating.
func TestAnErasedOpponentCountsWithTheProvisionalRating(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, "p1")
		r := ratedDuel("m1", 1, "gone", "p1")
		testenv.Need(l.Results.Commit(t.Context(), results(r)))(t)
		_, want := ratingsAfterDuel(r.Standings[0].Rating.Before, match.DefaultRating())
		wantRating(t, l, "p1", want, 1)
	})
}

// Several nodes commit results at the same time. Each result changes the ratings that
// earlier results have left, in the order of entries.
func TestRatingsAreInCommitOrder(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		nodes := []*Ledger{openLedger(t, db)}
		if db.URL != "" { // SQLite has one process
			nodes = append(nodes, openLedger(t, db))
		}
		players := []string{"p1", "p2", "p3", "p4"}
		for _, p := range players {
			addPlayer(t, nodes[0], p)
		}
		var mu sync.Mutex
		resultsByPos := map[int64]match.Result{} // by first position
		runConcurrently(12, func(i int) {
			a, b := players[i%4], players[(i+1+i/4)%4]
			if a == b {
				b = players[(i+1)%4]
			}
			batch := results(ratedDuel(fmt.Sprint("m", i), 1, a, b), ratedDuel(fmt.Sprint("n", i), 1, b, players[(i+2)%4]))
			if batch[1].Standings[1].Player == b {
				batch = batch[:1]
			}
			if _, err := nodes[i%len(nodes)].Results.Commit(t.Context(), batch); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range batch {
				resultsByPos[readEntries(t, nodes[0], r).first] = r
			}
		})
		ratings, rated := map[string]match.Rating{}, map[string]int64{}
		for _, pos := range slices.Sorted(maps.Keys(resultsByPos)) {
			winner, loser := resultsByPos[pos].Standings[0].Player, resultsByPos[pos].Standings[1].Player
			ratings[winner], ratings[loser] = ratingsAfterDuel(ratings[winner], ratings[loser])
			rated[winner]++
			rated[loser]++
		}
		for _, p := range players {
			wantRating(t, nodes[0], p, ratings[p], rated[p])
		}
	})
}
