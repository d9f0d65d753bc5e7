package match

import (
	"sync"
	"testing"
	"time"
)

// Two nodes load a match whose node has died, and sweep it. Only the one that takes the last
// step keeps it. That one also releases it after the players have come to the other.
func TestSweptMatchIsReleasedWhereNobodyPlays(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB, nodeC := c.startNode(), c.startNode(), c.startNode()
		nodeA.openSession(ada)
		plan := nodeA.openDuel(c, 3)
		nodeA.kill()
		for _, n := range []*node{nodeB, nodeC} { // a request loads the match at each
			_, err := n.Status(c.Context(), plan.ID)
			c.requireNoError(err)
		}
		// Both nodes sweep at the same instant, and each may take one of the steps up to the
		// second question. Long before its end, one of them has released the match.
		c.passUntil(plan, PhaseOpen, 1)
		c.sleep(4 * time.Second)
		heldByB, _ := nodeB.countLocalMatches()
		heldByC, _ := nodeC.countLocalMatches()
		if heldByB+heldByC != 1 {
			c.Errorf("nodes that advance the match: %d and %d", heldByB, heldByC)
		}
		player, other := nodeC, nodeB
		if heldByC == 1 {
			player, other = nodeB, nodeC
		}
		session := player.openSession(ada)
		c.requireNoError(player.AttachSession(c.Context(), "demo", plan.ID, ada))
		c.passUntil(plan, PhaseOver, 2)
		c.sleep(1100 * time.Millisecond)
		c.checkWholeLog(plan, session)
		c.checkStepsAppliedOnce()
		if held, _ := player.countLocalMatches(); held != 1 {
			c.Errorf("the node of the player holds %d matches", held)
		}
		time.Sleep(time.Hour)
		if held, _ := other.countLocalMatches(); held != 0 {
			c.Errorf("the other node holds %d matches", held)
		}
	})
}

// The node releases a match while a session is being attached to it. The session gets the
// pushes of the copy that is loaded then.
func TestSessionIsNotAttachedToReleasedCopy(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.startDuel(c, 2)
		first := n.findLocalMatch(plan.ID)
		var release sync.Once
		n.store.setFault(func(method, _ string) fault {
			if method == "Read" {
				release.Do(func() {
					if n.dropUnused(first) || !n.dropUnused(first) {
						c.Error("it was not released by the second check")
					}
				})
			}
			return noFault
		})
		session := n.openSession(ada)
		n.sync(plan, ada, session, 0)
		if n.findLocalMatch(plan.ID) == first || len(n.findLocalMatch(plan.ID).sessions) != 1 {
			c.Error("the session is not attached to the new copy")
		}
		c.passUntil(plan, PhaseOver, 1)
		c.checkWholeLog(plan, session)
		c.checkStepsAppliedOnce()
	})
}
