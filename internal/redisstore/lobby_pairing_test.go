package redisstore

import (
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/testenv"
)

// rollBack rolls a pairing back and reports whether it existed.
func (l *lobbyTest) rollBack(pairing lobby.Pairing, now int64) bool {
	l.Helper()
	rolledBack := testenv.Need(l.RollBackPairing(l.Context(), pairing, now))(l.T)
	return rolledBack
}

// Live tickets of a pairing that is rolled back wait again, unchanged.
func TestRolledBackTicketsWaitAgain(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada, bob := test.addTicketFor("ada", epoch), test.addTicketFor("bob", epoch)
		pairing := lobby.Pairing{Match: "m_1", PairedAt: epoch, Tickets: []lobby.Ticket{ada, bob}}
		if !test.pair("m_1", ada, bob) {
			test.Fatal("not paired")
		}
		now := int64(epoch + ticketAliveMS)
		for _, t := range pairing.Tickets {
			if got := test.nearestPlayers(t, now); got != nil {
				test.Errorf("%s waits among %v", t.ID, got)
			}
		}
		now += ticketAliveMS
		if !test.rollBack(pairing, now) || test.rollBack(pairing, now) { // the second call is a repetition
			test.Error("the pairing was not rolled back exactly once")
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		test.checkActivity("bob", lobby.Activity{Ticket: "t_bob"})
		test.checkListing(bob, now, ada)
		if !test.pair("m_2", bob, ada) {
			test.Error("the tickets cannot be paired again")
		}
		if test.rollBack(pairing, now) {
			test.Error("rolled back after the tickets were paired again")
		}
		test.checkActivity("ada", lobby.Activity{Match: "m_2", Forming: true})
	})
}

// An expired ticket does not wait again. Its player is free, unless the player
// is in something else by now.
func TestRollBackRemovesExpiredTickets(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada, bob, eve := test.addTicketFor("ada", epoch), test.addTicketFor("bob", epoch), test.addTicketFor("eve", epoch)
		pairing := lobby.Pairing{Match: "m_1", PairedAt: epoch, Tickets: []lobby.Ticket{ada, bob, eve}}
		if !test.pair("m_1", pairing.Tickets...) {
			test.Fatal("not paired")
		}
		for _, t := range []lobby.Ticket{ada, eve} {
			if got := test.nearestPlayers(t, epoch+1); got != nil {
				test.Errorf("%s waits among %v", t.ID, got)
			}
		}
		test.setBusy("eve", "m_3")
		now := int64(epoch + ticketAliveMS + 1)
		if !test.rollBack(pairing, now) {
			test.Error("the pairing was not rolled back")
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		test.checkActivity("bob", lobby.Activity{})
		test.checkActivity("eve", lobby.Activity{Match: "m_3"})
		test.checkNearest(ada, now)
		if n := test.countTicketEntries(); n != 3 { // the entries of ada's ticket
			test.Errorf("%d entries of tickets are kept", n)
		}
	})
}

// A completed pairing is not rolled back.
func TestCompletedPairingIsNotRolledBack(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.addTicketFor("ada", epoch)
		pairing := lobby.Pairing{Match: "m_1", PairedAt: epoch, Tickets: []lobby.Ticket{ada}}
		if !test.pair("m_1", ada) {
			test.Fatal("not paired")
		}
		testenv.NoError(test.T, test.CompletePairing(test.Context(), pairing))
		if test.rollBack(pairing, epoch) {
			test.Error("the completed pairing was rolled back")
		}
		test.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if got := test.nearestPlayers(ada, epoch); got != nil || test.countTicketEntries() != 0 {
			test.Errorf("it waits among %v, %d entries are kept", got, test.countTicketEntries())
		}
	})
}

// A player's last duel is kept, whatever the player does, until it is settled.
func TestLastDuelIsStoredUntilItIsSettled(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada, bob := test.addTicketFor("ada", epoch), test.addTicketFor("bob", epoch)
		if !test.pair("m_1", ada, bob) {
			test.Fatal("not paired")
		}
		testenv.NoError(test.T, test.CompletePairing(test.Context(), lobby.Pairing{Match: "m_1", Tickets: []lobby.Ticket{ada, bob}}))
		free := func(id string) {
			testenv.NoError(test.T, test.Free(test.Context(), test.game, []lobby.PlayerMatch{{Player: "ada", Match: id}}))
		}
		request := lobby.OccupyRequest{Game: test.game, Player: "ada", Match: "m_2", Former: "m_1"}
		if busyWith, err := test.Occupy(test.Context(), request, epoch); err != nil || busyWith != (lobby.Activity{}) {
			test.Fatal(busyWith, err)
		}
		test.checkActivity("ada", lobby.Activity{Match: "m_2", Duel: "m_1"})
		free("m_2")
		test.checkActivity("ada", lobby.Activity{Duel: "m_1"})
		test.checkActivity("bob", lobby.Activity{Match: "m_1", Duel: "m_1"})
		free("m_1")
		if got, err := test.ReadActivity(test.Context(), test.game, "ada"); err != nil || got != (lobby.Activity{}) {
			test.Errorf("after the settlement %+v, %v", got, err)
		}
	})
}
