package lobby

import (
	"testing"
	"testing/synctest"
	"time"
)

// moveTo ends a player's session at the node and starts one at another node,
// which takes over.
func (n *node) moveTo(w *cluster, other *node, player string) {
	w.Helper()
	n.matches.mu.Lock()
	delete(n.matches.localPlayers, player)
	n.matches.mu.Unlock()
	other.addPlayer(player)
	if err := other.TakeOver(w.Context(), "demo", player); err != nil {
		w.Fatal(err)
	}
}

// A player with a ticket who moves to another node is attached to the match
// there, whichever node pairs the ticket.
func TestATicketIsTakenOver(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		test.mustJoin(a, "ada", botAfter(0))
		a.moveTo(test, b, "ada")
		test.mustJoin(a, "bob", botAfter(0)) // node a pairs them and has no session of ada
		advanceTime(2 * time.Second)
		if p := test.attachedPlan(b, "ada"); p != test.attachedPlan(a, "bob") {
			test.Errorf("ada is in %s", p.ID)
		}
	})
}

// The same holds if the ticket's node has died.
func TestATicketOfADeadNodeIsTakenOver(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		test.mustJoin(a, "ada", botAfter(0))
		a.kill()
		a.moveTo(test, b, "ada")
		advanceTime(time.Minute) // otherwise it would have expired
		test.checkWaits(b, "ada")
		test.mustJoin(b, "bob", botAfter(0))
		if p := test.attachedPlan(b, "ada"); p != test.attachedPlan(b, "bob") {
			test.Errorf("ada is in %s", p.ID)
		}
	})
}

// A player who moves while the match is being created is attached once it
// exists.
func TestAFormingMatchIsTakenOver(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b, _, open := test.newFormingMatch()
		a.moveTo(test, b, "ada")
		synctest.Wait()
		test.checkWaits(b, "ada")
		open()
		advanceTime(10 * time.Second)
		if p := test.attachedPlan(b, "ada"); p != test.attachedPlan(b, "bob") {
			test.Errorf("ada is in %s", p.ID)
		}
	})
}

// A player without a ticket, or whose match is over, is not attached.
func TestTakeOverWithoutTicketOrRunningMatchDoesNothing(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		a.moveTo(test, b, "eve")
		test.mustJoin(a, "ada", botAfter(0))
		test.mustJoin(a, "bob", botAfter(0))
		test.records.setMark(test.records.over, test.attachedPlan(a, "ada").ID)
		a.moveTo(test, b, "ada")
		advanceTime(5 * time.Second)
		test.checkWaits(b, "eve")
		test.checkWaits(b, "ada")
	})
}
