package redislobby

import (
	"reflect"
	"testing"

	"laststand/internal/lobby"
)

// rollBack rolls a pairing back and reports whether it existed.
func (h *testLobby) rollBack(p lobby.Pairing, now int64) bool {
	h.Helper()
	rolledBack, err := h.RollBackPairing(h.Context(), p, now)
	if err != nil {
		h.Fatal(err)
	}
	return rolledBack
}

// Live tickets of a pairing that is rolled back wait again, unchanged.
func TestRollBackPairing(t *testing.T) {
	each(t, func(h *testLobby) {
		ada, bob := h.addedTicket("ada", epoch), h.addedTicket("bob", epoch)
		p := lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada, bob}}
		if !h.pair("m_1", ada, bob) {
			h.Fatal("not paired")
		}
		now := int64(epoch + aliveMS)
		for _, t := range p.Tickets {
			if got := h.nearest(t, now); got != nil {
				h.Errorf("%s waits among %v", t.ID, got)
			}
		}
		now += aliveMS
		if !h.rollBack(p, now) || h.rollBack(p, now) { // the second call is a repetition
			h.Error("it was not undone once")
		}
		h.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		h.checkActivity("bob", lobby.Activity{Ticket: "t_bob"})
		near, waits, err := h.ListNearest(h.Context(), bob, nearest, now)
		if err != nil || !waits || len(near) != 1 || !reflect.DeepEqual(near[0], ada) {
			h.Errorf("%+v, %v, %v", near, waits, err)
		}
		if !h.pair("m_2", bob, ada) {
			h.Error("they cannot be paired again")
		}
		if h.rollBack(p, now) {
			h.Error("undone after they were paired again")
		}
		h.checkActivity("ada", lobby.Activity{Match: "m_2", Forming: true})
	})
}

// An expired ticket does not wait again. Its player is free, unless the player
// is in something else by now.
func TestRollBackLeavesOutExpiredTickets(t *testing.T) {
	each(t, func(h *testLobby) {
		ada, bob, eve := h.addedTicket("ada", epoch), h.addedTicket("bob", epoch), h.addedTicket("eve", epoch)
		p := lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada, bob, eve}}
		if !h.pair("m_1", p.Tickets...) {
			h.Fatal("not paired")
		}
		for _, t := range []lobby.Ticket{ada, eve} {
			if got := h.nearest(t, epoch+1); got != nil {
				h.Errorf("%s waits among %v", t.ID, got)
			}
		}
		h.busyWith("eve", "m_3")
		now := int64(epoch + aliveMS + 1)
		if !h.rollBack(p, now) {
			h.Error("it was not undone")
		}
		h.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		h.checkActivity("bob", lobby.Activity{})
		h.checkActivity("eve", lobby.Activity{Match: "m_3"})
		h.checkNearest(ada, now)
		if n := h.countTickets(); n != 3 { // of one ticket
			h.Errorf("%d entries of tickets are kept", n)
		}
	})
}

// A completed pairing is not rolled back.
func TestRollBackAfterCompletion(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.addedTicket("ada", epoch)
		p := lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada}}
		if !h.pair("m_1", ada) {
			h.Fatal("not paired")
		}
		if err := h.CompletePairing(h.Context(), p); err != nil {
			h.Fatal(err)
		}
		if h.rollBack(p, epoch) {
			h.Error("it was undone")
		}
		h.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if got := h.nearest(ada, epoch); got != nil || h.countTickets() != 0 {
			h.Errorf("it waits among %v, %d entries are kept", got, h.countTickets())
		}
	})
}

// A player's last duel is kept, whatever the player does, until it is settled.
func TestTheLastDuelIsKept(t *testing.T) {
	each(t, func(h *testLobby) {
		ada, bob := h.addedTicket("ada", epoch), h.addedTicket("bob", epoch)
		if !h.pair("m_1", ada, bob) {
			h.Fatal("not paired")
		}
		if err := h.CompletePairing(h.Context(), lobby.Pairing{Match: "m_1", Tickets: []lobby.Ticket{ada, bob}}); err != nil {
			h.Fatal(err)
		}
		free := func(id string) {
			if err := h.Free(h.Context(), h.game, "ada", id); err != nil {
				h.Fatal(err)
			}
		}
		arena := lobby.OccupyRequest{Game: h.game, Player: "ada", Match: "m_2", Former: "m_1"}
		if with, err := h.Occupy(h.Context(), arena, epoch); err != nil || with != (lobby.Activity{}) {
			h.Fatal(with, err)
		}
		h.checkActivity("ada", lobby.Activity{Match: "m_2", Duel: "m_1"})
		free("m_2")
		h.checkActivity("ada", lobby.Activity{Duel: "m_1"})
		h.checkActivity("bob", lobby.Activity{Match: "m_1", Duel: "m_1"})
		free("m_1")
		if got, err := h.ReadActivity(h.Context(), h.game, "ada"); err != nil || got != (lobby.Activity{}) {
			h.Errorf("after the settlement %+v, %v", got, err)
		}
	})
}
