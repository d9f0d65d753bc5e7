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

// open creates the match of an arena in which players have seats.
func (w *cluster) open(id string, players ...string) {
	p := &match.Plan{ID: "m_" + id, Game: "demo", Mode: match.Survival, Arena: &match.Arena{ID: "a_" + id}}
	for _, player := range players {
		p.Seats = append(p.Seats, match.Seat{Player: player})
	}
	w.records.mu.Lock()
	defer w.records.mu.Unlock()
	w.records.plans[p.ID] = p
}

// checkOccupy checks which activity prevents a player from joining an arena, ""
// for none.
func (w *cluster) checkOccupy(n *node, id, former, want string, ticket bool) {
	w.Helper()
	with, isTicket, err := n.Occupy(w.Context(), "demo", "ada", id, former)
	if err != nil || with != want || isTicket != ticket {
		w.Errorf("%s: busy with %q (a ticket: %v), %v, want %q", id, with, isTicket, err, want)
	}
}

func TestPlaying(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		check := func(when string, want *protocol.Playing) {
			w.Helper()
			got, err := n.Playing(w.Context(), "demo", "ada")
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				w.Errorf("%s: %+v, %v", when, got, err)
			}
		}
		check("idle", nil)
		w.mustJoin(n, "ada")
		check("queued", nil)
		w.mustJoin(n, "bob")
		id := w.plan(n, "ada").ID
		check("playing", &protocol.Playing{Match: id, Seq: 7})
		w.records.set(w.records.over, id)
		check("over", nil)
		w.open("x", "ada")
		w.checkOccupy(n, "m_x", id, "", false)
		check("in an arena", &protocol.Playing{Match: "m_x", Seq: 7, ArenaID: "a_x"})
		w.records.set(w.records.left, "ada")
		check("kicked out of it", nil)
		n.link.set(func(string) fault { return fails })
		if _, err := n.Playing(w.Context(), "demo", "ada"); !errors.Is(err, errDown) {
			w.Errorf("%v", err)
		}
	})
}

// A new session must be attached to the match that its player's ticket leads
// to, but not to an earlier match. That also holds if the node that created the
// match has not removed the pairing yet.
func TestReadOnConnect(t *testing.T) {
	inBubble(t, func(w *cluster) {
		check := func(n *node, when, want string) {
			w.Helper()
			if _, before, err := n.ReadOnConnect(w.Context(), "demo", "ada"); err != nil || before != want {
				w.Errorf("%s: %q, %v, want %q", when, before, err, want)
			}
		}
		a, b, id, open := w.newFormingMatch()
		check(a, "forming", "")
		for _, n := range []*node{a, b} {
			n.link.set(func(method string) fault { return map[string]fault{"CompletePairing": fails}[method] })
		}
		open()
		pass(5 * time.Second)
		if kept := w.store.copied(); len(kept.pairings) != 1 {
			w.Fatalf("pairings %v", kept.pairings)
		}
		check(a, "created", id)
		w.records.set(w.records.over, id)
		check(a, "over, and its pairing is not done", id)
		a.link.set(nil)
		pass(5 * time.Second)
		check(a, "over", id)
	})
}

// A player with a seat in an arena cannot wait for an opponent, and the other
// way round.
func TestOneThingAtATime(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.open("x", "ada")
		w.open("y", "ada")
		w.checkOccupy(n, "m_x", "", "", false)
		w.checkOccupy(n, "m_x", "", "", false)
		w.checkOccupy(n, "m_y", "", "m_x", false)
		if err := n.join("ada"); code(err) != "already_playing" {
			w.Errorf("%v", err)
		}
		if err := n.Free(w.Context(), "demo", "ada", "m_x"); err != nil {
			w.Fatal(err)
		}
		w.mustJoin(n, "ada", botAfter(0))
		w.checkOccupy(n, "m_y", "", w.store.copied().busy["ada"].Ticket, true)
		n.kill() // no node renews her ticket any more
		pass((aliveMS + 1) * time.Millisecond)
		w.checkOccupy(n, "m_y", "", "", false)
		if left := w.store.copied().tickets; len(left) != 0 {
			w.Errorf("left over: %v", left)
		}
	})
}

// A node died between recording a player and adding the seat. The stale record
// does not stop the player.
func TestJoinWhenBusyWithAnArenaThatHasNoSeat(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.open("x")
		w.checkOccupy(n, "m_x", "", "", false)
		w.mustJoin(n, "ada")
		w.mustJoin(n, "bob")
		w.plan(n, "ada")
	})
}

// A match that is paired and not created yet is not over.
func TestAMatchThatIsFormingIsNoFormerOne(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.matches.shut = func() bool { return true }
		w.mustJoin(n, "ada")
		w.mustJoin(n, "bob")
		forming := w.store.copied().busy["ada"].Match
		w.open("x", "ada")
		w.checkOccupy(n, "m_x", forming, forming, false)
	})
}

// An erased player is in nothing afterwards, even if the last match is not the
// last duel, and that duel ended early and will never be settled.
func TestReleaseForgetsTheLastDuelToo(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.mustJoin(n, "ada")
		w.mustJoin(n, "bob")
		duel := w.plan(n, "ada").ID
		w.records.set(w.records.over, duel)
		w.open("x", "ada")
		w.checkOccupy(n, "m_x", duel, "", false)
		w.records.set(w.records.over, "m_x")
		if err := n.Release(w.Context(), "demo", "ada"); err != nil {
			w.Error(err)
		}
		left := w.store.copied()
		if left.busy["ada"] != (Activity{}) || left.duels["ada"] != "" || left.duels["bob"] != duel {
			w.Errorf("busy with %+v, last duels %v", left.busy, left.duels)
		}
	})
}
