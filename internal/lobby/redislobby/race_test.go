package redislobby

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"

	"laststand/internal/lobby"
)

// Forty tickets arrive at three nodes at the same time and may be paired in any
// way. Each ends up in exactly one pairing.
func TestEveryTicketIsPairedOnce(t *testing.T) {
	each(t, func(h *testLobby) {
		nodes := []*Store{New(h.client), New(h.client), New(h.client)}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() { h.findPair(nodes[i%3], h.ticket(fmt.Sprint("p_", i), 1500+float64(i%7))) })
		}
		all.Wait()
		pairings, err := h.ListPairings(h.Context(), h.game)
		if err != nil || len(pairings) != 20 {
			h.Errorf("%d pairings, %v", len(pairings), err)
		}
		in := map[string]string{}
		for _, p := range pairings {
			for _, tk := range p.Tickets {
				if in[tk.ID] != "" {
					h.Errorf("%s is in %s and %s", tk.ID, in[tk.ID], p.Match)
				}
				in[tk.ID] = p.Match
				h.checkActivity(tk.Seat.Player, lobby.Activity{Match: p.Match, Forming: true})
			}
		}
		if len(in) != 40 {
			h.Errorf("%d tickets are in a pairing", len(in))
		}
		for _, p := range pairings {
			if err := h.CompletePairing(h.Context(), p); err != nil {
				h.Error(err)
			}
		}
		if n := h.countTickets(); n != 0 {
			h.Errorf("%d entries of tickets are left", n)
		}
	})
}

// countTickets counts the stored tickets.
func (h *testLobby) countTickets() int64 {
	k := keys{h.game}
	return h.client.HLen(h.Context(), k.tickets()).Val() + h.client.ZCard(h.Context(), k.waiting()).Val() + h.client.ZCard(h.Context(), k.alive()).Val()
}

// Two nodes pair bob at the same time, with ada and with eve. He is in one
// match, and the other player keeps waiting.
func TestTwoNodesPairOneTicketAtOnce(t *testing.T) {
	each(t, func(h *testLobby) {
		for round := range 50 {
			name := func(player string) lobby.Ticket { return h.addedTicket(fmt.Sprint(player, round), epoch) }
			ada, bob, eve := name("ada"), name("bob"), name("eve")
			var won [2]bool
			var both sync.WaitGroup
			for i, tickets := range [][]lobby.Ticket{{ada, bob}, {eve, bob}} {
				both.Go(func() {
					p := lobby.Pairing{Match: fmt.Sprint("m_", round, i), At: epoch, Tickets: tickets}
					var err error
					if won[i], err = New(h.client).Pair(h.Context(), p); err != nil {
						h.Error(err)
					}
				})
			}
			both.Wait()
			if won[0] == won[1] {
				h.Fatalf("round %d: won %v", round, won)
			}
			first, other, match := ada, eve, fmt.Sprint("m_", round, 0)
			if won[1] {
				first, other, match = eve, ada, fmt.Sprint("m_", round, 1)
			}
			h.checkActivity(bob.Seat.Player, lobby.Activity{Match: match, Forming: true})
			h.checkActivity(first.Seat.Player, lobby.Activity{Match: match, Forming: true})
			h.checkActivity(other.Seat.Player, lobby.Activity{Ticket: other.ID})
			if id, err := h.RemoveTicket(h.Context(), h.game, other.Seat.Player); err != nil || id != other.ID {
				h.Errorf("round %d: %q left, %v", round, id, err)
			}
		}
	})
}

// findPair adds a ticket and pairs it with any other until it no longer waits.
func (h *testLobby) findPair(node *Store, t lobby.Ticket) {
	if _, with, err := node.AddTicket(h.Context(), t, lobby.Activity{}, epoch); err != nil || with != (lobby.Activity{}) {
		h.Errorf("%s: %+v, %v", t.ID, with, err)
		return
	}
	for {
		near, waits, err := node.ListNearest(h.Context(), t, nearest, epoch)
		if err != nil {
			h.Error(err)
			return
		}
		if !waits {
			return
		}
		if len(near) == 0 {
			continue
		}
		p := lobby.Pairing{Match: "m_" + ulid.Make().String(), At: epoch, Tickets: []lobby.Ticket{t, near[rand.IntN(len(near))]}}
		if _, err := node.Pair(h.Context(), p); err != nil {
			h.Error(err)
			return
		}
	}
}
