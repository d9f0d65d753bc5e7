package lobby

import (
	"errors"
	"testing"
	"time"

	"laststand/internal/match"
)

// resultOf is the result of a match of a game.
func resultOf(game, id string, players ...string) match.Result {
	result := match.Result{Game: game, Match: id}
	for _, player := range players {
		result.Standings = append(result.Standings, match.Standing{Player: player})
	}
	return result
}

// A join that waits for the last result goes on when this node settles it, and not only at
// the next check.
func TestJoinGoesOnWhenThisNodeSettlesTheLastResult(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		id := test.playLastMatch(n, true)
		start := now()
		time.AfterFunc(1007*time.Millisecond, func() {
			if released, err := n.ReleaseSettled(test.Context(), []match.Result{resultOf("demo", id, "ada", "bob")}); err != nil || len(released) != 1 {
				test.Error(released, err)
			}
		})
		test.mustJoin(n, "ada", botAfter(0))
		if waited := now() - start; waited != 1007 {
			test.Errorf("accepted after %d ms", waited)
		}
		if activities := test.store.copyTables().activities; activities["ada"].Ticket == "" || activities["bob"] != (Activity{}) {
			test.Errorf("%+v", activities)
		}
		if _, ok := n.settled.Load(id); ok {
			test.Error("the node still watches the match")
		}
	})
}

// If the players of one game cannot be released, the results of other games are.
func TestReleaseSettledReturnsTheResultsWhosePlayersAreFree(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		failed := false
		n.store.setFault(func(method string) storeFault {
			if method == "Free" && !failed {
				failed = true
				return faultNotExecuted
			}
			return faultNone
		})
		results := []match.Result{resultOf("one", "m_1", "ada"), resultOf("two", "m_2", "bob")}
		released, err := n.ReleaseSettled(test.Context(), results)
		if !errors.Is(err, errDown) || len(released) != 1 {
			test.Errorf("%+v, %v", released, err)
		}
	})
}

// A duel of two players at one node takes a look at each player's activity, a ticket each,
// and two calls for the pairing.
func TestDuelTakesSixCallsOfTheLobby(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		n.store.setFault(func(string) storeFault { return faultNone }) // starts to count calls
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		test.attachedPlan(n, "ada")
		advanceTime(5 * time.Second)
		for method, want := range map[string]int{"ReadActivity": 2, "AddTicket": 2, "ListNearest": 0, "Pair": 1, "CompletePairing": 1} {
			if got := n.store.countCalls(method); got != want {
				test.Errorf("%d calls of %s, want %d", got, method, want)
			}
		}
	})
}
