package lobby

import (
	"errors"
	"testing"
	"time"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

var (
	_ arena.Activities = (*Lobby)(nil)
	_ Matches          = (*match.Engine)(nil)
)

// addArena creates the match of an arena in which players have seats.
func (c *cluster) addArena(id string, players ...string) {
	p := &match.Plan{ID: "m_" + id, Game: "demo", Mode: match.Survival, Arena: &match.Arena{ID: "a_" + id}}
	for _, player := range players {
		p.Seats = append(p.Seats, match.Seat{Player: player})
	}
	c.records.mu.Lock()
	defer c.records.mu.Unlock()
	c.records.plans[p.ID] = p
}

// checkOccupy checks which activity prevents a player from joining an arena, ""
// for none.
func (c *cluster) checkOccupy(n *node, id, former, want string, wantTicket bool) {
	c.Helper()
	otherID, isTicket, err := n.Occupy(c.Context(), "demo", "ada", id, former)
	if err != nil || otherID != want || isTicket != wantTicket {
		c.Errorf("%s: occupied by %q (a ticket: %v), %v, want %q", id, otherID, isTicket, err, want)
	}
}

func TestRunningMatchReturnsOnlyRunningMatches(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		check := func(when string, want *protocol.Playing) {
			test.Helper()
			got, err := n.RunningMatch(test.Context(), "demo", "ada")
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				test.Errorf("%s: %+v, %v", when, got, err)
			}
		}
		check("idle", nil)
		test.mustJoin(n, "ada")
		check("queued", nil)
		test.mustJoin(n, "bob")
		id := test.attachedPlan(n, "ada").ID
		check("playing", &protocol.Playing{Match: id, Seq: 7})
		test.records.setMark(test.records.over, id)
		check("over", nil)
		test.addArena("x", "ada")
		test.checkOccupy(n, "m_x", id, "", false)
		check("in an arena", &protocol.Playing{Match: "m_x", Seq: 7, ArenaID: "a_x"})
		test.records.setMark(test.records.withoutSeat, "ada")
		check("kicked from the arena", nil)
		n.store.setFault(func(string) storeFault { return faultNotExecuted })
		if _, err := n.RunningMatch(test.Context(), "demo", "ada"); !errors.Is(err, errDown) {
			test.Errorf("%v", err)
		}
	})
}

// A new session must be attached to the match that its player's ticket leads
// to, but not to an earlier match. That also holds if the node that created the
// match has not removed the pairing yet.
func TestReadOnConnectReturnsTheNewestKnownMatch(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		check := func(n *node, when, want string) {
			test.Helper()
			if _, before, err := n.ReadOnConnect(test.Context(), "demo", "ada"); err != nil || before != want {
				test.Errorf("%s: %q, %v, want %q", when, before, err, want)
			}
		}
		a, b, id, open := test.newFormingMatch()
		check(a, "forming", "")
		for _, n := range []*node{a, b} {
			n.store.setFault(func(method string) storeFault {
				return map[string]storeFault{"CompletePairing": faultNotExecuted}[method]
			})
		}
		open()
		advanceTime(5 * time.Second)
		if kept := test.store.copyTables(); len(kept.pairings) != 1 {
			test.Fatalf("pairings %v", kept.pairings)
		}
		check(a, "created", id)
		test.records.setMark(test.records.over, id)
		check(a, "over, pairing not completed yet", id)
		a.store.setFault(nil)
		advanceTime(5 * time.Second)
		check(a, "over", id)
	})
}

// A player with a seat in an arena cannot get a ticket, and a player with a ticket
// cannot get a seat.
func TestAPlayerHasOneTicketOrOneMatch(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		test.addArena("x", "ada")
		test.addArena("y", "ada")
		test.checkOccupy(n, "m_x", "", "", false)
		test.checkOccupy(n, "m_x", "", "", false)
		test.checkOccupy(n, "m_y", "", "m_x", false)
		if err := n.join("ada"); errorCode(err) != "already_playing" {
			test.Errorf("%v", err)
		}
		if err := n.Free(test.Context(), "demo", "ada", "m_x"); err != nil {
			test.Fatal(err)
		}
		test.mustJoin(n, "ada", botAfter(0))
		test.checkOccupy(n, "m_y", "", test.store.copyTables().busy["ada"].Ticket, true)
		n.kill() // no node renews her ticket any more
		advanceTime((ticketAliveMS + 1) * time.Millisecond)
		test.checkOccupy(n, "m_y", "", "", false)
		if left := test.store.copyTables().tickets; len(left) != 0 {
			test.Errorf("tickets are still stored: %v", left)
		}
	})
}

// A node died between recording a player and adding the seat. The stale record
// does not stop the player.
func TestAStaleArenaDoesNotPreventATicket(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		test.addArena("x")
		test.checkOccupy(n, "m_x", "", "", false)
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		test.attachedPlan(n, "ada")
	})
}

// A match that is paired and not created yet is not over.
func TestAFormingMatchPreventsATicket(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		n.matches.shouldFailStart = func() bool { return true }
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		forming := test.store.copyTables().busy["ada"].Match
		test.addArena("x", "ada")
		test.checkOccupy(n, "m_x", forming, forming, false)
	})
}

// An erased player has no activity afterwards. That also holds if the last match is
// not the last duel, and the duel ended early and will never be settled.
func TestReleaseErasedPlayerAlsoRemovesTheLastDuel(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		duel := test.attachedPlan(n, "ada").ID
		test.records.setMark(test.records.over, duel)
		test.addArena("x", "ada")
		test.checkOccupy(n, "m_x", duel, "", false)
		test.records.setMark(test.records.over, "m_x")
		if err := n.ReleaseErasedPlayer(test.Context(), "demo", "ada"); err != nil {
			test.Error(err)
		}
		left := test.store.copyTables()
		if left.busy["ada"] != (Activity{}) || left.duels["ada"] != "" || left.duels["bob"] != duel {
			test.Errorf("busy with %+v, last duels %v", left.busy, left.duels)
		}
	})
}
