package match

import (
	"sync/atomic"
	"testing"
	"time"
)

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
