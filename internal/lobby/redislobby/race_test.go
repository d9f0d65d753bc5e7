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
	eachRedis(t, func(test *lobbyFixture) {
		nodes := []*Store{New(test.client), New(test.client), New(test.client)}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() { test.findPair(nodes[i%3], test.ticket(fmt.Sprint("p_", i), 1500+float64(i%7))) })
		}
		all.Wait()
		pairings, err := test.ListPairings(test.Context(), test.game)
		if err != nil || len(pairings) != 20 {
			test.Errorf("%d pairings, %v", len(pairings), err)
		}
		in := map[string]string{}
		for _, p := range pairings {
			for _, tk := range p.Tickets {
				if in[tk.ID] != "" {
					test.Errorf("%s is in %s and %s", tk.ID, in[tk.ID], p.Match)
				}
				in[tk.ID] = p.Match
				test.checkActivity(tk.Seat.Player, lobby.Activity{Match: p.Match, Forming: true})
			}
		}
		if len(in) != 40 {
			test.Errorf("%d tickets are in a pairing", len(in))
		}
		for _, p := range pairings {
			if err := test.CompletePairing(test.Context(), p); err != nil {
				test.Error(err)
			}
		}
		if n := test.countTickets(); n != 0 {
			test.Errorf("%d entries of tickets are left", n)
		}
	})
}

// countTickets counts the stored tickets.
func (l *lobbyFixture) countTickets() int64 {
	k := keys{l.game}
	return l.client.HLen(l.Context(), k.tickets()).Val() + l.client.ZCard(l.Context(), k.waiting()).Val() + l.client.ZCard(l.Context(), k.alive()).Val()
}

// Two nodes pair bob at the same time, with ada and with eve. He is in one
// match, and the other player keeps waiting.
func TestTwoNodesPairOneTicketOnce(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		for round := range 50 {
			name := func(player string) lobby.Ticket { return test.addedTicket(fmt.Sprint(player, round), startMS) }
			ada, bob, eve := name("ada"), name("bob"), name("eve")
			var won [2]bool
			var both sync.WaitGroup
			for i, tickets := range [][]lobby.Ticket{{ada, bob}, {eve, bob}} {
				both.Go(func() {
					p := lobby.Pairing{Match: fmt.Sprint("m_", round, i), PairedAt: startMS, Tickets: tickets}
					var err error
					if won[i], err = New(test.client).Pair(test.Context(), p); err != nil {
						test.Error(err)
					}
				})
			}
			both.Wait()
			if won[0] == won[1] {
				test.Fatalf("round %d: won %v", round, won)
			}
			first, other, match := ada, eve, fmt.Sprint("m_", round, 0)
			if won[1] {
				first, other, match = eve, ada, fmt.Sprint("m_", round, 1)
			}
			test.checkActivity(bob.Seat.Player, lobby.Activity{Match: match, Forming: true})
			test.checkActivity(first.Seat.Player, lobby.Activity{Match: match, Forming: true})
			test.checkActivity(other.Seat.Player, lobby.Activity{Ticket: other.ID})
			if id, err := test.RemoveTicket(test.Context(), test.game, other.Seat.Player); err != nil || id != other.ID {
				test.Errorf("round %d: %q left, %v", round, id, err)
			}
		}
	})
}

// findPair adds a ticket and pairs it with any other until it no longer waits.
func (l *lobbyFixture) findPair(node *Store, t lobby.Ticket) {
	if _, with, err := node.AddTicket(l.Context(), t, lobby.Activity{}, startMS); err != nil || with != (lobby.Activity{}) {
		l.Errorf("%s: %+v, %v", t.ID, with, err)
		return
	}
	for {
		near, waits, err := node.ListNearest(l.Context(), t, allTickets, startMS)
		if err != nil {
			l.Error(err)
			return
		}
		if !waits {
			return
		}
		if len(near) == 0 {
			continue
		}
		p := lobby.Pairing{Match: "m_" + ulid.Make().String(), PairedAt: startMS, Tickets: []lobby.Ticket{t, near[rand.IntN(len(near))]}}
		if _, err := node.Pair(l.Context(), p); err != nil {
			l.Error(err)
			return
		}
	}
}
