package redisstore

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
	testLobby(t, func(test *lobbyTest) {
		nodes := []*Lobby{NewLobby(test.client), NewLobby(test.client), NewLobby(test.client)}
		var running sync.WaitGroup
		for i := range 40 {
			running.Go(func() { test.addAndPair(nodes[i%3], test.newTicket(fmt.Sprint("p_", i), 1500+float64(i%7))) })
		}
		running.Wait()
		pairings, err := test.ListPairings(test.Context(), test.game)
		if err != nil || len(pairings) != 20 {
			test.Errorf("%d pairings, %v", len(pairings), err)
		}
		matchByTicket := map[string]string{}
		for _, pairing := range pairings {
			for _, ticket := range pairing.Tickets {
				if matchByTicket[ticket.ID] != "" {
					test.Errorf("%s is in %s and %s", ticket.ID, matchByTicket[ticket.ID], pairing.Match)
				}
				matchByTicket[ticket.ID] = pairing.Match
				test.checkActivity(ticket.Seat.Player, lobby.Activity{Match: pairing.Match, Forming: true})
			}
		}
		if len(matchByTicket) != 40 {
			test.Errorf("%d tickets are in a pairing", len(matchByTicket))
		}
		for _, pairing := range pairings {
			if err := test.CompletePairing(test.Context(), pairing); err != nil {
				test.Error(err)
			}
		}
		if n := test.countTicketEntries(); n != 0 {
			test.Errorf("%d entries of tickets are left", n)
		}
	})
}

// countTicketEntries counts the stored tickets.
func (l *lobbyTest) countTicketEntries() int64 {
	k := lobbyKeys{l.game}
	return l.client.HLen(l.Context(), k.tickets()).Val() + l.client.ZCard(l.Context(), k.waiting()).Val() + l.client.ZCard(l.Context(), k.alive()).Val()
}

// Two nodes pair bob at the same time, with ada and with eve. He is in one
// match, and the other player keeps waiting.
func TestTwoNodesPairOneTicketOnce(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		for round := range 50 {
			addTicket := func(player string) lobby.Ticket { return test.addTicketFor(fmt.Sprint(player, round), epoch) }
			ada, bob, eve := addTicket("ada"), addTicket("bob"), addTicket("eve")
			var isPaired [2]bool
			var running sync.WaitGroup
			for i, tickets := range [][]lobby.Ticket{{ada, bob}, {eve, bob}} {
				running.Go(func() {
					pairing := lobby.Pairing{Match: fmt.Sprint("m_", round, i), PairedAt: epoch, Tickets: tickets}
					var err error
					if isPaired[i], err = NewLobby(test.client).Pair(test.Context(), pairing); err != nil {
						test.Error(err)
					}
				})
			}
			running.Wait()
			if isPaired[0] == isPaired[1] {
				test.Fatalf("round %d: won %v", round, isPaired)
			}
			opponent, other, match := ada, eve, fmt.Sprint("m_", round, 0)
			if isPaired[1] {
				opponent, other, match = eve, ada, fmt.Sprint("m_", round, 1)
			}
			test.checkActivity(bob.Seat.Player, lobby.Activity{Match: match, Forming: true})
			test.checkActivity(opponent.Seat.Player, lobby.Activity{Match: match, Forming: true})
			test.checkActivity(other.Seat.Player, lobby.Activity{Ticket: other.ID})
			if id, err := test.RemoveTicket(test.Context(), test.game, other.Seat.Player); err != nil || id != other.ID {
				test.Errorf("round %d: %q left, %v", round, id, err)
			}
		}
	})
}

// addAndPair adds a ticket and pairs it with any other until it no longer waits.
func (l *lobbyTest) addAndPair(node *Lobby, t lobby.Ticket) {
	if listing, err := node.AddTicket(l.Context(), t, lobby.Activity{}, epoch); err != nil || listing.Activity.Ticket != t.ID {
		l.Errorf("%s: %+v, %v", t.ID, listing, err)
		return
	}
	for {
		listing, err := node.ListNearest(l.Context(), t, allTickets, epoch)
		if err != nil {
			l.Error(err)
			return
		}
		near := listing.Nearest
		if listing.Activity.Ticket != t.ID {
			return
		}
		if len(near) == 0 {
			continue
		}
		p := lobby.Pairing{Match: "m_" + ulid.Make().String(), PairedAt: epoch, Tickets: []lobby.Ticket{t, l.decode(near[rand.IntN(len(near))])}}
		if _, err := node.Pair(l.Context(), p); err != nil {
			l.Error(err)
			return
		}
	}
}
