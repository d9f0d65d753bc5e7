package redislobby

import (
	"testing"

	"laststand/internal/lobby"
)

// busyWith records that a player is in a match.
func (h *testLobby) busyWith(player, id string) {
	h.Helper()
	if err := h.client.Set(h.Context(), keys{h.game}.busy(player), "match:"+id, busyTTL).Err(); err != nil {
		h.Fatal(err)
	}
}

// Free removes the given match, and no later activity.
func TestFree(t *testing.T) {
	each(t, func(h *testLobby) {
		h.busyWith("ada", "m_1")
		for _, c := range []struct {
			match string
			want  lobby.Activity
		}{{"m_0", lobby.Activity{Match: "m_1"}}, {"m_1", lobby.Activity{}}, {"m_1", lobby.Activity{}}} {
			if err := h.Free(h.Context(), h.game, "ada", c.match); err != nil {
				h.Error(err)
			}
			h.checkActivity("ada", c.want)
		}
		h.addedTicket("ada", epoch)
		if err := h.Free(h.Context(), h.game, "ada", "m_1"); err != nil {
			h.Error(err)
		}
		h.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
	})
}

// checkOccupy checks which activity keeps ada from a match; an empty want means
// none.
func (h *testLobby) checkOccupy(id, former string, now int64, want lobby.Activity) {
	h.Helper()
	with, err := h.Occupy(h.Context(), lobby.OccupyRequest{Game: h.game, Player: "ada", Match: id, Former: former}, now)
	if err != nil || with != want {
		h.Errorf("%s after %q: busy with %+v, %v, want %+v", id, former, with, err, want)
	}
}

func TestOccupy(t *testing.T) {
	each(t, func(h *testLobby) {
		for range 2 { // repeated
			h.checkOccupy("m_1", "", epoch, lobby.Activity{})
		}
		h.checkOccupy("m_2", "", epoch, lobby.Activity{Match: "m_1"})
		h.checkOccupy("m_2", "m_0", epoch, lobby.Activity{Match: "m_1"})
		h.checkActivity("ada", lobby.Activity{Match: "m_1"})
		h.checkOccupy("m_2", "m_1", epoch, lobby.Activity{})
		h.checkActivity("ada", lobby.Activity{Match: "m_2"})
		if ttl := h.client.TTL(h.Context(), keys{h.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			h.Errorf("busy for %v", ttl)
		}
		if _, with, err := h.AddTicket(h.Context(), h.ticket("ada", 1500), lobby.Activity{}, epoch); err != nil || with != (lobby.Activity{Match: "m_2"}) {
			h.Errorf("a ticket besides: %+v, %v", with, err)
		}
		if err := h.Free(h.Context(), h.game, "ada", "m_2"); err != nil {
			h.Error(err)
		}
		h.checkActivity("ada", lobby.Activity{})
	})
}

// A waiting player is occupied until the ticket has expired; then the ticket is
// removed.
func TestOccupyBesideATicket(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.addedTicket("ada", epoch)
		h.checkOccupy("m_1", "", epoch+aliveMS, lobby.Activity{Ticket: "t_ada"})
		h.checkOccupy("m_1", "", epoch+aliveMS+1, lobby.Activity{})
		h.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if got := h.nearest(ada, epoch+aliveMS+1); got != nil {
			h.Errorf("the ticket waits among %v", got)
		}
		if n := h.countTickets(); n != 0 {
			h.Errorf("%d entries of tickets are left", n)
		}
	})
}

// A match that does not exist yet does not count as a former one.
func TestOccupyBesideAPairing(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.addedTicket("ada", epoch)
		if !h.pair("m_1", ada) {
			h.Fatal("not paired")
		}
		h.checkOccupy("m_2", "m_1", epoch, lobby.Activity{Match: "m_1"})
		if err := h.CompletePairing(h.Context(), lobby.Pairing{Match: "m_1", Tickets: []lobby.Ticket{ada}}); err != nil {
			h.Fatal(err)
		}
		h.checkOccupy("m_2", "m_1", epoch, lobby.Activity{})
	})
}
