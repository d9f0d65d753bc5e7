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
	delete(n.matches.here, player)
	n.matches.mu.Unlock()
	other.addPlayer(player)
	if err := other.TakeOver(w.Context(), "demo", player); err != nil {
		w.Fatal(err)
	}
}

// A player with a ticket who moves to another node is attached to the match
// there, whichever node pairs the ticket.
func TestATicketIsTakenOver(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		w.mustJoin(a, "ada", botAfter(0))
		a.moveTo(w, b, "ada")
		w.mustJoin(a, "bob", botAfter(0)) // node a pairs them and has no session of ada
		pass(2 * time.Second)
		if p := w.plan(b, "ada"); p != w.plan(a, "bob") {
			w.Errorf("ada is in %s", p.ID)
		}
	})
}

// The same holds if the ticket's node has died.
func TestATicketOfADeadNodeIsTakenOver(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		w.mustJoin(a, "ada", botAfter(0))
		a.kill()
		a.moveTo(w, b, "ada")
		pass(time.Minute) // otherwise it would have expired
		w.checkWaits(b, "ada")
		w.mustJoin(b, "bob", botAfter(0))
		if p := w.plan(b, "ada"); p != w.plan(b, "bob") {
			w.Errorf("ada is in %s", p.ID)
		}
	})
}

// A player who moves while the match is being created is attached once it
// exists.
func TestAFormingMatchIsTakenOver(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b, _, open := w.newFormingMatch()
		a.moveTo(w, b, "ada")
		synctest.Wait()
		w.checkWaits(b, "ada")
		open()
		pass(10 * time.Second)
		if p := w.plan(b, "ada"); p != w.plan(b, "bob") {
			w.Errorf("ada is in %s", p.ID)
		}
	})
}

// A player without a ticket, or whose match is over, is not attached.
func TestNothingToTakeOver(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		a.moveTo(w, b, "eve")
		w.mustJoin(a, "ada", botAfter(0))
		w.mustJoin(a, "bob", botAfter(0))
		w.records.set(w.records.over, w.plan(a, "ada").ID)
		a.moveTo(w, b, "ada")
		pass(5 * time.Second)
		w.checkWaits(b, "eve")
		w.checkWaits(b, "ada")
	})
}
