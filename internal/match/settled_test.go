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
	n.OnSettled = func(_ context.Context, settlement Settlement) error {
		if counter.failuresLeft.Add(-1) >= 0 || settlement.Game != "demo" {
			return errors.New("out of reach")
		}
		if settlement.Ratings[bob] == 1533 {
			counter.notifiedPlayers.Add(int64(len(settlement.Sessions)))
		}
		return nil
	}
	return counter
}

// The notification of a settled result is lost. The node detects it and
// notifies its players once, also after failures.
func TestLostSettledNotificationIsRecovered(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		failures              int64
		notificationArrives   bool // before the node checks by itself
		countsForLeaderboards bool
		players               int64
	}{
		"notification lost":               {players: 1, countsForLeaderboards: true},
		"notification lost, two failures": {failures: 2, players: 1, countsForLeaderboards: true},
		"notification arrives":            {notificationArrives: true, players: 1, countsForLeaderboards: true},
		"arrives, one failure":            {notificationArrives: true, failures: 1, players: 1, countsForLeaderboards: true},
		"counts for no leaderboard":       {players: 0},
		"arrives, for no leaderboard":     {notificationArrives: true, players: 1},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				nodeA, nodeB := c.startNode(), c.startNode()
				nodeA.openSession(ada)
				nodeB.openSession(bob)
				plan := newPlan("m_1", now()+3000, 1)
				plan.CountsForLeaderboards = testCase.countsForLeaderboards
				counter := nodeB.countSettledNotifications()
				counter.failuresLeft.Store(testCase.failures)
				c.requireNoError(nodeA.StartDuel(c.Context(), plan))
				c.requireNoError(nodeB.AttachSession(c.Context(), "demo", plan.ID, bob))
				c.passUntil(plan, PhaseOver, 0)
				time.Sleep(10 * time.Second)
				if notified := counter.notifiedPlayers.Load(); notified != 0 {
					t.Errorf("%d players notified before it is settled", notified)
				}
				if !testCase.notificationArrives {
					c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
				}
				for range 2 {
					nodeA.NotifySettled(c.Context(), ratedResult(plan))
				}
				time.Sleep(time.Minute)
				if notified := counter.notifiedPlayers.Load(); notified != testCase.players {
					t.Errorf("%d players notified, want %d", notified, testCase.players)
				}
			})
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
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				n, settling := c.startNode(), c.startNode()
				plan := n.startDuel(c, 1)
				if holdsMatch {
					settling = n
				}
				counter := settling.countSettledNotifications()
				settling.openSession(bob)
				c.requireNoError(n.AttachSession(c.Context(), "demo", plan.ID, bob))
				c.passUntil(plan, PhaseOver, 0)
				settling.NotifySettled(c.Context(), ratedResult(plan))
				time.Sleep(time.Minute)
				if n := counter.notifiedPlayers.Load(); n != 1 {
					t.Errorf("%d players notified", n)
				}
			})
		})
	}
}
