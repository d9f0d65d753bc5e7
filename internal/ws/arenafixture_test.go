package ws

import (
	"github.com/oklog/ulid/v2"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// testArena is an arena in survival mode that a test creates with the engine and the
// stores, without the arena service.
type arenaFixture struct {
	*node
	match, id string
}

// openArena opens an arena with a host.
func (n *node) openArena(host string) arenaFixture {
	n.Helper()
	fixture := arenaFixture{node: n, match: "m_" + ulid.Make().String()}
	fixture.id = "a_" + fixture.match[2:]
	questions, err := fakeBank{}.Draw("demo", lobby.Filter{}, duel.Questions, nil)
	if err == nil {
		err = n.Engine.CreateArena(n.Context(), &match.Plan{
			Form: match.CurrentForm, ID: fixture.match, Game: "demo", Mode: match.Survival, Questions: questions,
			LimitMS: duel.LimitMS, CountdownMS: duel.CountdownMS, RevealMS: duel.RevealMS,
			Arena: &match.Arena{ID: fixture.id, Code: "123456", Name: "All hands", Host: host, MaxPlayers: 10},
		})
	}
	fixture.check(err)
	return fixture
}

// addSeat gives a player a seat.
func (f arenaFixture) addSeat(player string) {
	f.Helper()
	_, _, err := f.Lobby.Occupy(f.Context(), "demo", player, f.match, "")
	f.check(err)
	sat, err := f.matches.AddSeat(f.Context(), arena.SeatRequest{Match: f.match, Seat: match.Seat{Player: player, Nickname: player}, MaxSeats: 10})
	if f.check(err); sat.Verdict != arena.VerdictIn {
		f.Fatalf("%s: %s", player, sat.Verdict)
	}
	f.check(f.Engine.AttachFrom(f.Context(), f.match, player, 0))
}

// addWatcher lets a player watch in a role.
func (f arenaFixture) addWatcher(player string, as match.Role) {
	f.Helper()
	_, err := f.matches.AddWatcher(f.Context(), f.match, player, as)
	f.check(err)
	f.check(f.Engine.AttachFrom(f.Context(), f.match, player, 0))
}

func (f arenaFixture) startMatch() {
	f.Helper()
	f.check(f.Engine.StartArena(f.Context(), f.match))
}

func (f arenaFixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// host connects with a token of role host.
func (n *node) host(subject string) (*client, protocol.Welcome) {
	n.Helper()
	c := n.dial()
	c.sendRequest(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, subject, now()+1e6)})
	var w protocol.Welcome
	c.expectReply(protocol.TypeWelcome).decodeInto(n.T, &w)
	return c, w
}
