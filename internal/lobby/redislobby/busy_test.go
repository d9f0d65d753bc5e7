package redislobby

import (
	"testing"

	"laststand/internal/lobby"
)

// busyWith makes a player busy with a match.
func (h *hall) busyWith(player, id string) {
	h.Helper()
	if err := h.client.Set(h.Context(), keys{h.game}.busy(player), "match:"+id, busyTTL).Err(); err != nil {
		h.Fatal(err)
	}
}

// Free ends what it names, and nothing that came after it.
func TestFree(t *testing.T) {
	each(t, func(h *hall) {
		h.busyWith("ada", "m_1")
		for _, c := range []struct {
			match string
			want  lobby.Busy
		}{{"m_0", lobby.Busy{Match: "m_1"}}, {"m_1", lobby.Busy{}}, {"m_1", lobby.Busy{}}} {
			if err := h.Free(h.Context(), h.game, "ada", c.match); err != nil {
				h.Error(err)
			}
			h.checkWhere("ada", c.want)
		}
		h.entered("ada", epoch)
		if err := h.Free(h.Context(), h.game, "ada", "m_1"); err != nil {
			h.Error(err)
		}
		h.checkWhere("ada", lobby.Busy{Ticket: "t_ada"})
	})
}

// checkOccupy says what keeps ada from a match, nothing where want is empty.
func (h *hall) checkOccupy(id, former string, now int64, want lobby.Busy) {
	h.Helper()
	with, err := h.Occupy(h.Context(), lobby.Occupation{Game: h.game, Player: "ada", Match: id, Former: former}, now)
	if err != nil || with != want {
		h.Errorf("%s after %q: busy with %+v, %v, want %+v", id, former, with, err, want)
	}
}

func TestOccupy(t *testing.T) {
	each(t, func(h *hall) {
		for range 2 { // run again
			h.checkOccupy("m_1", "", epoch, lobby.Busy{})
		}
		h.checkOccupy("m_2", "", epoch, lobby.Busy{Match: "m_1"})
		h.checkOccupy("m_2", "m_0", epoch, lobby.Busy{Match: "m_1"})
		h.checkWhere("ada", lobby.Busy{Match: "m_1"})
		h.checkOccupy("m_2", "m_1", epoch, lobby.Busy{})
		h.checkWhere("ada", lobby.Busy{Match: "m_2"})
		if ttl := h.client.TTL(h.Context(), keys{h.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			h.Errorf("busy for %v", ttl)
		}
		if _, with, err := h.Enter(h.Context(), h.ticket("ada", 1500), lobby.Busy{}, epoch); err != nil || with != (lobby.Busy{Match: "m_2"}) {
			h.Errorf("a ticket besides: %+v, %v", with, err)
		}
		if err := h.Free(h.Context(), h.game, "ada", "m_2"); err != nil {
			h.Error(err)
		}
		h.checkWhere("ada", lobby.Busy{})
	})
}

// Who waits for an opponent is busy, until the ticket has expired; then it
// leaves.
func TestOccupyBesideATicket(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.entered("ada", epoch)
		h.checkOccupy("m_1", "", epoch+aliveMS, lobby.Busy{Ticket: "t_ada"})
		h.checkOccupy("m_1", "", epoch+aliveMS+1, lobby.Busy{})
		h.checkWhere("ada", lobby.Busy{Match: "m_1"})
		if got := h.near(ada, epoch+aliveMS+1); got != nil {
			h.Errorf("the ticket waits among %v", got)
		}
		if n := h.kept(); n != 0 {
			h.Errorf("%d entries of tickets are left", n)
		}
	})
}

// A match that is still to be created is no former one.
func TestOccupyBesideAPairing(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.entered("ada", epoch)
		if !h.pair("m_1", ada) {
			h.Fatal("not paired")
		}
		h.checkOccupy("m_2", "m_1", epoch, lobby.Busy{Match: "m_1"})
		if err := h.Done(h.Context(), lobby.Pairing{Match: "m_1", Tickets: []lobby.Ticket{ada}}); err != nil {
			h.Fatal(err)
		}
		h.checkOccupy("m_2", "m_1", epoch, lobby.Busy{})
	})
}
