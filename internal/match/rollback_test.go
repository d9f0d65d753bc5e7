package match

import (
	"testing"
	"testing/synctest"
	"time"
)

// The store loses acknowledged answers, and another node raises the version past the known
// one at once. The node whose writes are lost ends the match at its next call of the store.
func TestLostWritesAreNoticedAfterOtherNodesRaiseTheVersion(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Survival, Buzzer} {
		t.Run(string(mode), func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				nodeA, nodeB := c.startNode(), c.startNode()
				plan := newArena(mode, 3)
				sessions := c.createArenaWithPlayers(plan, 8, nodeA, nodeB)
				c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, PhaseOpen, 0)
				c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
				answer := func(n *node, seats ...int) {
					for _, seat := range seats {
						_, err := n.answer(plan, plan.arenaSeat(seat).Player, 0, wrongAnswer(&plan.Questions[0]))
						c.requireNoError(err)
					}
				}
				outdatedCopy := c.store.copyMatch(plan.ID)
				answer(nodeA, 0, 2)
				c.store.restoreMatch(plan.ID, outdatedCopy)
				answer(nodeB, 1, 3, 5, 7)
				c.bus.setRoute(nil)
				time.Sleep(30 * time.Second)
				synctest.Wait()
				for _, session := range sessions {
					c.checkAbandoned(session)
				}
				if _, hasResult := c.store.result(plan.ID); hasResult || countAbandoned(nodeA, nodeB) != 1 {
					c.Errorf("it has a result: %v; counted as abandoned %v times", hasResult, countAbandoned(nodeA, nodeB))
				}
			})
		})
	}
}

// The other node of a duel ends it after the loss. Its messages tell the node whose answer
// is lost.
func TestLostAnswerOfDuelIsNoticedByMessages(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newPlan("m_1", now()+3000, 3)
		c.requireNoError(nodeA.StartDuel(c.Context(), plan))
		adaSession := nodeA.openSession(ada)
		c.requireNoError(nodeA.AttachSession(c.Context(), "demo", plan.ID, ada))
		nodeB.openSession(bob)
		c.requireNoError(nodeB.AttachSession(c.Context(), "demo", plan.ID, bob))
		c.passUntil(plan, PhaseOpen, 0)
		outdatedCopy := c.store.copyMatch(plan.ID)
		if _, err := nodeA.answer(plan, ada, 0, rightAnswer(&plan.Questions[0])); err != nil {
			c.Fatal(err)
		}
		synctest.Wait()
		c.store.restoreMatch(plan.ID, outdatedCopy)
		nodeB.findLocalMatch(plan.ID).seen.Version-- // as if the message about the answer were still on its way
		if _, err := nodeB.answer(plan, bob, 0, rightAnswer(&plan.Questions[0])); err != nil {
			c.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		c.checkAbandoned(adaSession)
	})
}
