package match

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// openedDuel is a duel over two nodes whose first question is open.
type openedDuel struct {
	*Plan
	openingNode, otherNode                 *node  // the node that opened the question, and the other one
	playerAtOpeningNode, playerAtOtherNode string // the players at these nodes
}

// startOpenedDuel starts a duel over two nodes and waits until its first question
// is open. Messages between the nodes have the given delay.
func (c *cluster) startOpenedDuel(questions int, delay time.Duration) openedDuel {
	c.Helper()
	c.bus.setRoute(func(string) (int, time.Duration) { return 1, delay })
	nodeA, nodeB := c.startNode(), c.startNode()
	plan, _, _ := c.startDuelAt(nodeA, nodeB, questions)
	c.passUntil(plan, PhaseOpen, 0)
	if testutil.ToFloat64(nodeA.metrics.steps.WithLabelValues(string(PhaseOpen), "taken")) > 0 {
		return openedDuel{plan, nodeA, nodeB, ada, bob}
	}
	return openedDuel{plan, nodeB, nodeA, bob, ada}
}

// hasAdvancedAfter reports whether the match has progressed this long after its deadline.
func (c *cluster) hasAdvancedAfter(plan *Plan, afterMS int64) bool {
	before := c.store.state(plan.ID)
	c.sleep(time.Duration(before.DueAt+afterMS-now()) * time.Millisecond)
	return c.store.state(plan.ID).Version != before.Version
}

// A step is left to the node of the last one only for a short time.
func TestOtherNodeAppliesLateStepSoon(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		duel := c.startOpenedDuel(1, 0)
		duel.openingNode.kill()
		if !c.hasAdvancedAfter(duel.Plan, maxLateOpeningMS) {
			c.Errorf("%d ms after its deadline no node has applied the step", maxLateOpeningMS)
		}
	})
}

// An answer is not a step. An answer accepted at another node delays no step
// here.
func TestAnswerAtOtherNodeDelaysNoStep(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		duel := c.startOpenedDuel(1, 0)
		c.answerUntilAccepted(duel.Plan, duel.otherNode, duel.playerAtOtherNode, 0)
		if !c.hasAdvancedAfter(duel.Plan, remoteStepGraceMS-20) {
			c.Error("both nodes have left the step to each other")
		}
	})
}

// A step of another node stays the last one while answers raise the version. So the next step
// is still left to that node for a short time.
func TestAnswersDoNotEndTheWaitForTheOtherNode(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		c.startArena(plan, 4, nodeA, nodeB)
		opening, other := nodeA, nodeB
		if testutil.ToFloat64(nodeB.metrics.steps.WithLabelValues(string(PhaseOpen), "taken")) > 0 {
			opening, other = nodeB, nodeA
		}
		for i := range 2 {
			c.answerUntilAccepted(plan, nodeA, plan.arenaSeat(i).Player, 0)
		}
		time.Sleep(2 * recoveryInterval) // each node has read the match
		if known, stored := other.findLocalMatch(plan.ID).knownState(), c.store.state(plan.ID); known.Version != stored.Version {
			c.Fatalf("the other node knows version %d of %d", known.Version, stored.Version)
		}
		opening.kill()
		if c.hasAdvancedAfter(plan, remoteStepGraceMS-20) {
			c.Error("the other node did not wait")
		}
		if !c.hasAdvancedAfter(plan, maxLateOpeningMS) {
			c.Error("no node has applied the step")
		}
	})
}

// A late message about an older step delays no step here either.
func TestLateStepEventDelaysNoStep(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		duel := c.startOpenedDuel(2, 2*time.Second)
		c.answerUntilAccepted(duel.Plan, duel.openingNode, duel.playerAtOpeningNode, 0)
		c.answerUntilAccepted(duel.Plan, duel.otherNode, duel.playerAtOtherNode, 0)
		if state := c.store.state(duel.ID); state.Phase != PhaseRevealed {
			c.Fatalf("it is at %+v", state)
		}
		if !c.hasAdvancedAfter(duel.Plan, remoteStepGraceMS-20) {
			c.Error("both nodes have left the step to each other")
		}
	})
}

// A node that gets each step from another node leaves the next one to it. It
// neither reads the match nor tries a step.
func TestNodeThatAppliedLastStepAppliesNext(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		c.bus.setRoute(func(string) (int, time.Duration) { return 1, 5 * time.Millisecond })
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, sessionA, sessionB := c.startDuelAt(nodeA, nodeB, 5)
		c.passUntil(plan, PhaseOpen, 0) // both nodes have tried this step
		var tries [2]atomic.Int64
		for i, n := range []*node{nodeA, nodeB} {
			n.store.setFault(func(method, _ string) fault {
				if method == "Read" || method == "Step" {
					tries[i].Add(1)
				}
				return noFault
			})
		}
		c.passUntil(plan, PhaseOver, 4)
		if fewerTries := min(tries[0].Load(), tries[1].Load()); fewerTries > 0 {
			c.Errorf("one node applied the steps, and the other tried %d times", fewerTries)
		}
		time.Sleep(time.Second) // until the last message has arrived
		c.checkWholeLog(plan, sessionA, sessionB)
	})
}
