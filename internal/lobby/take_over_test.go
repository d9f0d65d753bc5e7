package lobby

import (
	"testing"
	"testing/synctest"
	"time"
)

// movePlayerTo ends a player's session at the node and starts one at another node,
// which takes over.
func (n *node) movePlayerTo(c *cluster, other *node, player string) {
	c.Helper()
	n.matches.mu.Lock()
	delete(n.matches.localPlayers, player)
	n.matches.mu.Unlock()
	other.addPlayer(player)
	if err := other.TakeOver(c.Context(), "demo", player); err != nil {
		c.Fatal(err)
	}
}

// A player with a ticket who moves to another node is attached to the match
// there, whichever node pairs the ticket.
func TestTicketIsTakenOver(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB := test.startNode(), test.startNode()
		test.mustJoin(nodeA, "ada", botAfter(0))
		nodeA.movePlayerTo(test, nodeB, "ada")
		test.mustJoin(nodeA, "bob", botAfter(0)) // node a pairs them and has no session of ada
		advanceTime(2 * time.Second)
		if p := test.attachedPlan(nodeB, "ada"); p != test.attachedPlan(nodeA, "bob") {
			test.Errorf("ada is in %s", p.ID)
		}
	})
}

// The same holds if the ticket's node has died.
func TestTicketOfDeadNodeIsTakenOver(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		deadNode, newNode := test.startNode(), test.startNode()
		test.mustJoin(deadNode, "ada", botAfter(0))
		deadNode.kill()
		deadNode.movePlayerTo(test, newNode, "ada")
		advanceTime(time.Minute) // otherwise it would have expired
		test.checkWaits(newNode, "ada")
		test.mustJoin(newNode, "bob", botAfter(0))
		if p := test.attachedPlan(newNode, "ada"); p != test.attachedPlan(newNode, "bob") {
			test.Errorf("ada is in %s", p.ID)
		}
	})
}

// A player who moves while the match is being created is attached once it
// exists.
func TestFormingMatchIsTakenOver(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB, _, allowStart := test.startFormingMatch()
		nodeA.movePlayerTo(test, nodeB, "ada")
		synctest.Wait()
		test.checkWaits(nodeB, "ada")
		allowStart()
		advanceTime(10 * time.Second)
		if p := test.attachedPlan(nodeB, "ada"); p != test.attachedPlan(nodeB, "bob") {
			test.Errorf("ada is in %s", p.ID)
		}
	})
}

// A player without a ticket, or whose match is over, is not attached.
func TestTakeOverWithoutTicketOrRunningMatchDoesNothing(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB := test.startNode(), test.startNode()
		nodeA.movePlayerTo(test, nodeB, "eve")
		test.mustJoin(nodeA, "ada", botAfter(0))
		test.mustJoin(nodeA, "bob", botAfter(0))
		test.records.addTo(test.records.over, test.attachedPlan(nodeA, "ada").ID)
		nodeA.movePlayerTo(test, nodeB, "ada")
		advanceTime(5 * time.Second)
		test.checkWaits(nodeB, "eve")
		test.checkWaits(nodeB, "ada")
	})
}
