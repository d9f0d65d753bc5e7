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
				c.store.setSettledNotified(plan.ID, map[string]int{bob: 1533})
				for range 2 {
					if testCase.notificationArrives {
						_ = nodeB.NotifySettled(c.Context(), plan.ID, map[string]int{bob: 1533})
					}
				}
				time.Sleep(time.Minute)
				if notified := counter.notifiedPlayers.Load(); notified != testCase.players {
					t.Errorf("%d players notified, want %d", notified, testCase.players)
				}
			})
		})
	}
}

// A node that has notified its players does not check again.
func TestSettledMatchIsNotifiedOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		counter := n.countSettledNotifications()
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		c.passUntil(plan, PhaseOver, 0)
		n.MarkSettledNotified(plan.ID)
		c.store.setSettledNotified(plan.ID, nil)
		c.requireNoError(n.NotifySettled(c.Context(), plan.ID, nil))
		c.requireNoError(n.NotifySettled(c.Context(), "m_none", nil))
		time.Sleep(time.Minute)
		if n := counter.notifiedPlayers.Load(); n != 0 {
			t.Errorf("%d players notified", n)
		}
	})
}
