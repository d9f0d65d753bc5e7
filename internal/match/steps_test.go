package match

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// openedDuel is a duel over two nodes whose first question is open.
type openedDuel struct {
	*Plan
	taker, other *node  // the node that opened the question, and the other one
	here, there  string // the players at these nodes
}

// startOpenedDuel starts a duel over two nodes and waits until its first question
// is open. Messages between the nodes have the given delay.
func (c *cluster) startOpenedDuel(questions int, delay time.Duration) openedDuel {
	c.Helper()
	c.bus.setRoute(func(string) (int, time.Duration) { return 1, delay })
	nodeA, nodeB := c.startNode(), c.startNode()
	nodeA.openSession(ada)
	nodeB.openSession(bob)
	plan := nodeA.startDuel(c, questions)
	c.requireNoError(nodeB.AttachSession(c.Context(), "demo", plan.ID, bob))
	c.passUntil(plan, PhaseOpen, 0)
	if testutil.ToFloat64(nodeA.metrics.steps.WithLabelValues(string(PhaseOpen), "taken")) > 0 {
		return openedDuel{plan, nodeA, nodeB, ada, bob}
	}
	return openedDuel{plan, nodeB, nodeA, bob, ada}
}

// hasAdvancedAfter reports whether the match has progressed this long after its deadline.
func (c *cluster) hasAdvancedAfter(plan *Plan, afterMS int64) bool {
	was := c.store.state(plan.ID)
	time.Sleep(time.Duration(was.DueAt+afterMS-now()) * time.Millisecond)
	synctest.Wait()
	return c.store.state(plan.ID).Version != was.Version
}

// A step is left to the node of the last one only for a short time.
func TestOtherNodeTakesLateStepSoon(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		o := c.startOpenedDuel(1, 0)
		o.taker.kill()
		if !c.hasAdvancedAfter(o.Plan, maxLateOpeningMS) {
			c.Errorf("%d ms after its deadline no node has applied the step", maxLateOpeningMS)
		}
	})
}

// An answer is not a step. An answer accepted at another node delays no step
// here.
func TestAnswerAtOtherNodeDelaysNoStep(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		o := c.startOpenedDuel(1, 0)
		c.answerUntilAccepted(o.Plan, o.other, o.there, 0)
		if !c.hasAdvancedAfter(o.Plan, remoteStepGraceMS-20) {
			c.Error("both nodes have left the step to each other")
		}
	})
}

// A late message about an older step delays no step here either.
func TestLateStepEventDelaysNoStep(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		o := c.startOpenedDuel(2, 2*time.Second)
		c.answerUntilAccepted(o.Plan, o.taker, o.here, 0)
		c.answerUntilAccepted(o.Plan, o.other, o.there, 0)
		if state := c.store.state(o.ID); state.Phase != PhaseRevealed {
			c.Fatalf("it is at %+v", state)
		}
		if !c.hasAdvancedAfter(o.Plan, remoteStepGraceMS-20) {
			c.Error("both nodes have left the step to each other")
		}
	})
}
