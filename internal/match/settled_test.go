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
	players atomic.Int64
	fails   atomic.Int64 // remaining failures
}

func (n *node) countSettled() *settledCounter {
	c := new(settledCounter)
	n.OnSettled = func(_ context.Context, s Settlement) error {
		if c.fails.Add(-1) >= 0 || s.Game != "demo" {
			return errors.New("out of reach")
		}
		if s.Ratings[bob] == 1533 {
			c.players.Add(int64(len(s.Sessions)))
		}
		return nil
	}
	return c
}

// The notification of a settled result is lost. The node detects it and
// notifies its players once, also after failures.
func TestLostSettledNotificationIsRecovered(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		fails   int64
		word    bool // before the node checks by itself
		counts  bool
		players int64
	}{
		"notification lost":               {players: 1, counts: true},
		"notification lost, two failures": {fails: 2, players: 1, counts: true},
		"notification arrives":            {word: true, players: 1, counts: true},
		"arrives, one failure":            {word: true, fails: 1, players: 1, counts: true},
		"counts for no leaderboard":       {players: 0},
		"arrives, for no leaderboard":     {word: true, players: 1},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(w *cluster) {
				nodeA, nodeB := w.startNode(), w.startNode()
				nodeA.openSession(ada)
				nodeB.openSession(bob)
				plan := newPlan("m_1", now()+3000, 1)
				plan.CountsForLeaderboards = testCase.counts
				here := nodeB.countSettled()
				here.fails.Store(testCase.fails)
				w.requireNoError(nodeA.StartDuel(w.Context(), plan))
				w.requireNoError(nodeB.AttachSession(w.Context(), "demo", plan.ID, bob))
				w.passUntil(plan, PhaseOver, 0)
				time.Sleep(10 * time.Second)
				if n := here.players.Load(); n != 0 {
					t.Errorf("%d players notified before it is settled", n)
				}
				w.store.setSettledNotified(plan.ID, map[string]int{bob: 1533})
				for range 2 {
					if testCase.word {
						_ = nodeB.NotifySettled(w.Context(), plan.ID, map[string]int{bob: 1533})
					}
				}
				time.Sleep(time.Minute)
				if n := here.players.Load(); n != testCase.players {
					t.Errorf("%d players notified, want %d", n, testCase.players)
				}
			})
		})
	}
}

// A node that has notified its players does not check again.
func TestSettledIsNotifiedOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		here := n.countSettled()
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		c.passUntil(plan, PhaseOver, 0)
		n.MarkSettledNotified(plan.ID)
		c.store.setSettledNotified(plan.ID, nil)
		c.requireNoError(n.NotifySettled(c.Context(), plan.ID, nil))
		c.requireNoError(n.NotifySettled(c.Context(), "m_none", nil))
		time.Sleep(time.Minute)
		if n := here.players.Load(); n != 0 {
			t.Errorf("%d players notified", n)
		}
	})
}
