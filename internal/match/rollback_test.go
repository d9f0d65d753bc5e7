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
		runNamedInCluster(t, string(mode), func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			plan := newArena(mode, 3)
			sessions := c.startArena(plan, 8, nodeA, nodeB)
			c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
			answer := func(n *node, seats ...int) {
				for _, seat := range seats {
					n.answerWrong(plan, plan.arenaSeat(seat).Player, 0)
				}
			}
			outdatedCopy := c.store.copyMatch(plan.ID)
			answer(nodeA, 0, 2)
			c.store.restoreMatch(plan.ID, outdatedCopy)
			answer(nodeB, 1, 3, 5, 7)
			c.bus.setRoute(nil)
			c.sleep(30 * time.Second)
			c.checkAbandoned(sessions...)
			if _, hasResult := c.store.result(plan.ID); hasResult || countAbandoned(nodeA, nodeB) != 1 {
				c.Errorf("it has a result: %v; counted as abandoned %v times", hasResult, countAbandoned(nodeA, nodeB))
			}
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
		nodeA.answerRight(plan, ada, 0)
		synctest.Wait()
		c.store.restoreMatch(plan.ID, outdatedCopy)
		local := nodeB.findLocalMatch(plan.ID) // as if the message about the answer were still on its way
		local.seen.Version, local.duel = local.seen.Version-1, duelAnswers{}
		nodeB.answerRight(plan, bob, 0)
		c.sleep(100 * time.Millisecond)
		c.checkAbandoned(adaSession)
	})
}
