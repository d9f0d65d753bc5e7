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
	plan := &match.Plan{ID: "m_" + id, Game: "demo", Mode: match.Survival, Arena: &match.Arena{ID: "a_" + id}}
	for _, player := range players {
		plan.Seats = append(plan.Seats, match.Seat{Player: player})
	}
	c.records.mu.Lock()
	defer c.records.mu.Unlock()
	c.records.plans[plan.ID] = plan
}

// checkOccupy checks with which code, "" for none, and because of which match a player
// is refused in an arena.
func (c *cluster) checkOccupy(n *node, id string, wantCode protocol.Code, wantMatch string) {
	c.Helper()
	var refused protocol.Error
	err := n.Occupy(c.Context(), "demo", "ada", id)
	if refusal := (*protocol.Error)(nil); errors.As(err, &refusal) {
		refused = *refusal
	} else if err != nil {
		c.Fatal(err)
	}
	if refused.Code != wantCode || refused.Match != wantMatch {
		c.Errorf("%s: refused with %v, want %q because of %q", id, err, wantCode, wantMatch)
	}
}

func TestRunningMatchReturnsOnlyRunningMatches(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		checkRunning := func(moment string, want *protocol.Playing) {
			test.Helper()
			got, err := n.RunningMatch(test.Context(), "demo", "ada")
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				test.Errorf("%s: %+v, %v", moment, got, err)
			}
		}
		checkRunning("idle", nil)
		test.mustJoin(n, "ada")
		checkRunning("queued", nil)
		test.mustJoin(n, "bob")
		id := test.attachedPlan(n, "ada").ID
		checkRunning("playing", &protocol.Playing{Match: id, Seq: 7})
		test.records.addTo(test.records.over, id)
		checkRunning("over", nil)
		test.addArena("x", "ada")
		test.checkOccupy(n, "m_x", "", "")
		checkRunning("in an arena", &protocol.Playing{Match: "m_x", Seq: 7, ArenaID: "a_x"})
		test.records.addTo(test.records.withoutSeat, "ada")
		checkRunning("kicked from the arena", nil)
		n.store.setFault(func(string) storeFault { return faultNotExecuted })
		if _, err := n.RunningMatch(test.Context(), "demo", "ada"); !errors.Is(err, errDown) {
			test.Errorf("%v", err)
		}
	})
}

// A new session must be attached to the match that its player's ticket leads
// to, but not to an earlier match. That also holds if the node that created the
// match has not removed the pairing yet.
func TestReadOnConnectReturnsNewestCreatedMatch(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		checkMatch := func(n *node, moment, want string) {
			test.Helper()
			if _, match, err := n.ReadOnConnect(test.Context(), "demo", "ada"); err != nil || match != want {
				test.Errorf("%s: %q, %v, want %q", moment, match, err, want)
			}
		}
		nodeA, nodeB, id, allowStart := test.startFormingMatch()
		checkMatch(nodeA, "forming", "")
		for _, n := range []*node{nodeA, nodeB} {
			n.store.setFault(func(method string) storeFault {
				return map[string]storeFault{"CompletePairing": faultNotExecuted}[method]
			})
		}
		allowStart()
		advanceTime(5 * time.Second)
		if tables := test.store.copyTables(); len(tables.pairings) != 1 {
			test.Fatalf("pairings %v", tables.pairings)
		}
		checkMatch(nodeA, "created", id)
		test.records.addTo(test.records.over, id)
		checkMatch(nodeA, "over, pairing not completed yet", id)
		nodeA.store.setFault(nil)
		advanceTime(5 * time.Second)
		checkMatch(nodeA, "over", id)
	})
}

// A player with a seat in an arena cannot get a ticket, and a player with a ticket
// cannot get a seat.
func TestPlayerHasOneTicketOrOneMatch(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.addArena("x", "ada")
		test.addArena("y", "ada")
		test.checkOccupy(n, "m_x", "", "")
		test.checkOccupy(n, "m_x", "", "")
		test.checkOccupy(n, "m_y", protocol.CodeAlreadyPlaying, "m_x")
		if err := n.joinAndPair("ada"); errorCode(err) != "already_playing" {
			test.Errorf("%v", err)
		}
		test.must(n.Free(test.Context(), "demo", "ada", "m_x"))
		test.mustJoin(n, "ada", botAfter(0))
		test.checkOccupy(n, "m_y", protocol.CodeAlreadyQueued, "")
		n.kill() // no node renews her ticket any more
		advanceTime((ticketAliveMS + 1) * time.Millisecond)
		test.checkOccupy(n, "m_y", "", "")
		if remaining := test.store.copyTables().tickets; len(remaining) != 0 {
			test.Errorf("tickets are still stored: %v", remaining)
		}
	})
}

// A node died between recording a player and adding the seat. The stale record
// does not stop the player here or elsewhere.
func TestStaleArenaDoesNotPreventAnotherActivity(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.addArena("x")
		test.checkOccupy(n, "m_x", "", "")
		test.addArena("y", "ada")
		test.checkOccupy(n, "m_y", "", "")
		test.records.addTo(test.records.over, "m_y")
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		test.attachedPlan(n, "ada")
	})
}

// A match that is paired and not created yet is not over.
func TestFormingMatchPreventsArena(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		n.matches.shouldFailStart = func() bool { return true }
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		forming := test.store.copyTables().activities["ada"].Match
		test.addArena("x", "ada")
		test.checkOccupy(n, "m_x", protocol.CodeAlreadyPlaying, forming)
	})
}

// An erased player has no activity afterwards. That also holds if the last match is
// not the last duel, and the duel ended early and will never be settled.
func TestReleaseErasedPlayerAlsoRemovesTheLastDuel(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		duel := test.attachedPlan(n, "ada").ID
		test.records.addTo(test.records.over, duel)
		test.addArena("x", "ada")
		test.checkOccupy(n, "m_x", "", "")
		test.records.addTo(test.records.over, "m_x")
		if err := n.ReleaseErasedPlayer(test.Context(), "demo", "ada"); err != nil {
			test.Error(err)
		}
		remaining := test.store.copyTables()
		if remaining.activities["ada"] != (Activity{}) || remaining.lastDuels["ada"] != "" || remaining.lastDuels["bob"] != duel {
			test.Errorf("busy with %+v, last duels %v", remaining.activities, remaining.lastDuels)
		}
	})
}
