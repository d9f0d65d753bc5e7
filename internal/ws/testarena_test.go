package ws

import (
	"github.com/oklog/ulid/v2"
	"laststand/internal/quiz"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// testArena is an arena in survival mode that a test creates with the engine and the
// stores, without the arena service.
type testArena struct {
	*node
	matchID, id string
}

// openArena opens an arena with a host.
func (n *node) openArena(host string) testArena {
	n.Helper()
	arena := testArena{node: n, matchID: "m_" + ulid.Make().String()}
	arena.id = "a_" + arena.matchID[2:]
	questions, err := fakeBank{}.Draw(quiz.Source{}, quiz.Filter{}, duel.Questions, nil)
	if err == nil {
		err = n.Engine.CreateArena(n.Context(), &match.Plan{
			Form: match.CurrentForm, ID: arena.matchID, Game: "demo", Mode: match.Survival, Questions: questions,
			Rules: match.Rules{LimitMS: duel.LimitMS}, CountdownMS: duel.CountdownMS, RevealMS: duel.RevealMS,
			Arena: &match.Arena{ID: arena.id, Code: "123456", Name: "All hands", Host: host, MaxPlayers: 10},
		})
	}
	arena.requireNoError(err)
	return arena
}

// addSeat gives a player a seat.
func (a testArena) addSeat(player string) {
	a.Helper()
	a.requireNoError(a.Lobby.Occupy(a.Context(), "demo", player, a.matchID))
	reply, err := a.matches.AddSeat(a.Context(), arena.SeatRequest{Match: a.matchID, Seat: match.Seat{Player: player, Nickname: player}, MaxSeats: 10})
	if a.requireNoError(err); reply.Verdict != arena.VerdictIn {
		a.Fatalf("%s: %s", player, reply.Verdict)
	}
	a.requireNoError(a.Engine.AttachFrom(a.Context(), a.matchID, player, 0))
}

// addWatcher lets a player watch in a role.
func (a testArena) addWatcher(player string, role match.Role) {
	a.Helper()
	_, err := a.matches.AddWatcher(a.Context(), a.matchID, player, role)
	a.requireNoError(err)
	a.requireNoError(a.Engine.AttachFrom(a.Context(), a.matchID, player, 0))
}

func (a testArena) startMatch() {
	a.Helper()
	a.requireNoError(a.Engine.StartArena(a.Context(), a.matchID))
}

func (a testArena) requireNoError(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// connectHost connects with a token of role host.
func (n *node) connectHost(subject string) (*client, protocol.Welcome) {
	n.Helper()
	c := n.dial()
	c.sendRequest(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, subject, now()+1e6)})
	var welcome protocol.Welcome
	c.expectReply(protocol.TypeWelcome).decodeInto(n.T, &welcome)
	return c, welcome
}
