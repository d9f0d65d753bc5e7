package match

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// settledCounter counts how often the players of a node were notified of a
// settled match.
type settledCounter struct {
	notifiedPlayers atomic.Int64
	failuresLeft    atomic.Int64 // remaining failures
}

func (n *node) countSettledNotifications() *settledCounter {
	counter := new(settledCounter)
	n.OnSettled = func(_ context.Context, settlements []Settlement) error {
		if counter.failuresLeft.Add(-1) >= 0 || settlements[0].Game != "demo" {
			return errors.New("out of reach")
		}
		for _, settlement := range settlements {
			if settlement.Ratings[bob] == 1533 {
				counter.notifiedPlayers.Add(int64(len(settlement.Sessions)))
			}
		}
		return nil
	}
	return counter
}

// A settled result is marked in the store. Its players are notified once, at the latest
// when their node finds the mark. The settling node may have died, its message may be lost,
// or the node's own attempt may have failed.
func TestEverySettledResultIsNotified(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		notifiedBy   string // the node that settled it: "other", "own", or "" if it died
		busIsDown    bool
		failures     int64
		isNotCounted bool // the ledger counts it for no leaderboard
		wantPlayers  int64
	}{
		"by another node":                {notifiedBy: "other", wantPlayers: 1},
		"by another node, one failure":   {notifiedBy: "other", failures: 1, wantPlayers: 1},
		"message lost":                   {notifiedBy: "other", busIsDown: true, wantPlayers: 1},
		"message lost, two failures":     {notifiedBy: "other", busIsDown: true, failures: 2, wantPlayers: 1},
		"by the players' node":           {notifiedBy: "own", wantPlayers: 1},
		"by their node, one failure":     {notifiedBy: "own", failures: 1, wantPlayers: 1},
		"the settling node died":         {wantPlayers: 1},
		"it died, one failure":           {failures: 1, wantPlayers: 1},
		"it died, and it is not counted": {isNotCounted: true},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			other, own := c.startNode(), c.startNode()
			other.openSession(ada)
			own.openSession(bob)
			counter := own.countSettledNotifications()
			counter.failuresLeft.Store(testCase.failures)
			plan := other.startDuel(c, 1)
			c.requireNoError(own.AttachSession(c.Context(), "demo", plan.ID, bob))
			c.passUntil(plan, PhaseOver, 0)
			time.Sleep(10 * time.Second)
			if notified := counter.notifiedPlayers.Load(); notified != 0 {
				t.Errorf("%d players notified before it is settled", notified)
			}
			result := ratedResult(plan)
			result.CountsForLeaderboards = !testCase.isNotCounted
			c.store.markSettled(result)
			if testCase.busIsDown {
				c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
			}
			if settling := map[string]*node{"other": other, "own": own}[testCase.notifiedBy]; settling != nil {
				settling.NotifySettled(c.Context(), []Result{result})
				settling.NotifySettled(c.Context(), []Result{result})
			}
			time.Sleep(3 * time.Minute) // the checks come less and less often
			if notified := counter.notifiedPlayers.Load(); notified != testCase.wantPlayers {
				t.Errorf("%d players notified, want %d", notified, testCase.wantPlayers)
			}
		})
	}
}

// A node that finds the mark by itself says that the leaderboards may not show the result
// yet. A node that is notified knows that they do.
func TestNodeThatFindsSettledResultAwaitsLeaderboards(t *testing.T) {
	t.Parallel()
	for name, isNotified := range map[string]bool{"notified": true, "finds the mark": false} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			n.openSession(ada)
			var settlements []Settlement
			n.OnSettled = func(_ context.Context, notified []Settlement) error {
				settlements = append(settlements, notified...)
				return nil
			}
			plan := n.startDuel(c, 1)
			c.passUntil(plan, PhaseOver, 0)
			result := ratedResult(plan)
			result.CountsForLeaderboards = true
			c.store.markSettled(result)
			if isNotified {
				n.NotifySettled(c.Context(), []Result{result})
			}
			c.sleep(10 * time.Second)
			if len(settlements) != 1 || settlements[0].LeaderboardsMayLag == isNotified || settlements[0].Ratings[ada] != 1533 {
				t.Errorf("%+v", settlements)
			}
		})
	}
}

// ratedResult is the result of a rated duel, after which bob has 1533 points.
func ratedResult(plan *Plan) Result {
	change := &RatingChange{After: Rating{R: 1533}}
	return Result{Match: plan.ID, Game: plan.Game, Mode: Duel, Standings: []Standing{{Player: ada, Rating: change}, {Player: bob, Rating: change}}}
}

// The node that settles a match notifies its own players once, also those who are not
// attached to the match, and does not check again.
func TestSettledMatchIsNotifiedOnce(t *testing.T) {
	for name, holdsMatch := range map[string]bool{"holds the match": true, "does not hold the match": false} {
		runNamedInCluster(t, name, func(c *cluster) {
			n, settling := c.startNode(), c.startNode()
			plan := n.startDuel(c, 1)
			if holdsMatch {
				settling = n
			}
			counter := settling.countSettledNotifications()
			settling.openSession(bob)
			c.requireNoError(n.AttachSession(c.Context(), "demo", plan.ID, bob))
			c.passUntil(plan, PhaseOver, 0)
			settling.NotifySettled(c.Context(), []Result{ratedResult(plan)})
			time.Sleep(time.Minute)
			if n := counter.notifiedPlayers.Load(); n != 1 {
				t.Errorf("%d players notified", n)
			}
		})
	}
}

// Matches that are settled together are notified with one call here, and one look-up of the
// other nodes. The players of a failed call are notified later.
func TestMatchesSettledTogetherAreNotifiedTogether(t *testing.T) {
	t.Parallel()
	for name, failures := range map[string]int64{"at once": 0, "after a failure": 1} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			n.openSession(bob)
			counter := n.countSettledNotifications()
			counter.failuresLeft.Store(failures)
			var results []Result
			for _, id := range []string{"m_1", "m_2", "m_3"} {
				plan := newPlan(id, now()+3000, 1)
				c.requireNoError(n.StartDuel(c.Context(), plan))
				results = append(results, ratedResult(plan))
			}
			time.Sleep(time.Minute) // until all are over
			for i := range results {
				results[i].CountsForLeaderboards = true
				c.store.markSettled(results[i])
			}
			lookups := n.store.countCalls("Nodes")
			n.NotifySettled(c.Context(), results)
			if notified := counter.notifiedPlayers.Load(); notified != 3*(1-failures) || *lookups != 1 {
				t.Errorf("%d players notified at once, %d look-ups", notified, *lookups)
			}
			time.Sleep(time.Minute)
			if notified := counter.notifiedPlayers.Load(); notified != 3 {
				t.Errorf("%d players notified", notified)
			}
		})
	}
}
