package redisstore

import (
	"fmt"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/testenv"
)

// setBusy records that a player is in a match.
func (l *lobbyTest) setBusy(player, id string) {
	l.Helper()
	testenv.NoError(l.T, l.client.Set(l.Context(), lobbyKeys{l.game}.busy(player), "match:"+id, busyTTL).Err())
}

func (l *lobbyTest) free(player, id string) error {
	return l.Free(l.Context(), l.game, []lobby.PlayerMatch{{Player: player, Match: id}})
}

// More players than one script frees are free after one call, each from the given match.
func TestFreeReleasesManyPlayers(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		all := make([]lobby.PlayerMatch, 2*maxFreedPlayers+1)
		for i := range all {
			all[i] = lobby.PlayerMatch{Player: fmt.Sprint("p_", i), Match: fmt.Sprint("m_", i/2)}
			test.setBusy(all[i].Player, all[i].Match)
		}
		test.setBusy("p_1", "m_later")
		testenv.NoError(test.T, test.Free(test.Context(), test.game, all))
		for _, freed := range all {
			want := lobby.Activity{}
			if freed.Player == "p_1" {
				want.Match = "m_later"
			}
			test.checkActivity(freed.Player, want)
		}
	})
}

// Free removes the given match, and no later activity.
func TestFreeRemovesOnlyTheGivenMatch(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		test.setBusy("ada", "m_1")
		for _, testCase := range []struct {
			match string
			want  lobby.Activity
		}{{"m_0", lobby.Activity{Match: "m_1"}}, {"m_1", lobby.Activity{}}, {"m_1", lobby.Activity{}}} {
			if err := test.free("ada", testCase.match); err != nil {
				test.Error(err)
			}
			test.checkActivity("ada", testCase.want)
		}
		test.addTicketFor("ada", epoch)
		if err := test.free("ada", "m_1"); err != nil {
			test.Error(err)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
	})
}

// checkOccupy checks which activity keeps ada from a match; an empty want means
// none.
func (l *lobbyTest) checkOccupy(id, former string, now int64, want lobby.Activity) {
	l.Helper()
	busyWith, err := l.Occupy(l.Context(), lobby.OccupyRequest{Game: l.game, Player: "ada", Match: id, Former: former}, now)
	if err != nil || busyWith != want {
		l.Errorf("%s after %q: busy with %+v, %v, want %+v", id, former, busyWith, err, want)
	}
}

func TestOccupyRecordsTheMatch(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		for range 2 { // repeated
			test.checkOccupy("m_1", "", epoch, lobby.Activity{})
		}
		test.checkOccupy("m_2", "", epoch, lobby.Activity{Match: "m_1"})
		test.checkOccupy("m_2", "m_0", epoch, lobby.Activity{Match: "m_1"})
		test.checkActivity("ada", lobby.Activity{Match: "m_1"})
		test.checkOccupy("m_2", "m_1", epoch, lobby.Activity{})
		test.checkActivity("ada", lobby.Activity{Match: "m_2"})
		if ttl := test.client.TTL(test.Context(), lobbyKeys{test.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			test.Errorf("busy for %v", ttl)
		}
		if listing, err := test.AddTicket(test.Context(), test.newTicket("ada", 1500), lobby.Activity{}, epoch); err != nil || listing.Activity != (lobby.Activity{Match: "m_2"}) {
			test.Errorf("a ticket during the match: %+v, %v", listing, err)
		}
		if err := test.free("ada", "m_2"); err != nil {
			test.Error(err)
		}
		test.checkActivity("ada", lobby.Activity{})
	})
}

// A waiting player is occupied until the ticket has expired; then the ticket is
// removed.
func TestLiveTicketPreventsOccupy(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.addTicketFor("ada", epoch)
		test.checkOccupy("m_1", "", epoch+ticketAliveMS, lobby.Activity{Ticket: "t_ada"})
		test.checkOccupy("m_1", "", epoch+ticketAliveMS+1, lobby.Activity{})
		test.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if got := test.nearestPlayers(ada, epoch+ticketAliveMS+1); got != nil {
			test.Errorf("the ticket waits among %v", got)
		}
		if n := test.countTicketEntries(); n != 0 {
			test.Errorf("%d entries of tickets are left", n)
		}
	})
}

// A match that does not exist yet does not count as a former one.
func TestFormingMatchPreventsOccupy(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.addTicketFor("ada", epoch)
		if !test.pair("m_1", ada) {
			test.Fatal("not paired")
		}
		test.checkOccupy("m_2", "m_1", epoch, lobby.Activity{Match: "m_1"})
		testenv.NoError(test.T, test.CompletePairing(test.Context(), lobby.Pairing{Match: "m_1", Tickets: []lobby.Ticket{ada}}))
		test.checkOccupy("m_2", "m_1", epoch, lobby.Activity{})
	})
}
