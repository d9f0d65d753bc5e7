package ws

import (
	"github.com/oklog/ulid/v2"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// arenaFixture is an arena in survival mode that a test makes with the engine and the
// stores, without the arena service.
type arenaFixture struct {
	*node
	match, id string
}

// openArena opens an arena with a host.
func (n *node) openArena(host string) arenaFixture {
	n.Helper()
	g := arenaFixture{node: n, match: "m_" + ulid.Make().String()}
	g.id = "a_" + g.match[2:]
	questions, err := fakeBank{}.Draw("demo", lobby.Filter{}, duel.Questions, nil)
	if err == nil {
		err = n.Engine.CreateArena(n.Context(), &match.Plan{
			Form: match.Form, ID: g.match, Game: "demo", Mode: match.Survival, Questions: questions,
			LimitMS: duel.LimitMS, CountdownMS: duel.CountdownMS, RevealMS: duel.RevealMS,
			Arena: &match.Arena{ID: g.id, Code: "123456", Name: "All hands", Host: host, MaxPlayers: 10},
		})
	}
	g.must(err)
	return g
}

// addSeat gives a player a seat.
func (g arenaFixture) addSeat(player string) {
	g.Helper()
	_, _, err := g.Lobby.Occupy(g.Context(), "demo", player, g.match, "")
	g.must(err)
	sat, err := g.matches.AddSeat(g.Context(), arena.SeatRequest{Match: g.match, Seat: match.Seat{Player: player, Nickname: player}, Max: 10})
	if g.must(err); sat.Verdict != arena.In {
		g.Fatalf("%s: %s", player, sat.Verdict)
	}
	g.must(g.Engine.AttachFrom(g.Context(), g.match, player, 0))
}

// addWatcher lets a player watch in a role.
func (g arenaFixture) addWatcher(player string, as match.Role) {
	g.Helper()
	_, err := g.matches.AddWatcher(g.Context(), g.match, player, as)
	g.must(err)
	g.must(g.Engine.AttachFrom(g.Context(), g.match, player, 0))
}

func (g arenaFixture) begin() {
	g.Helper()
	g.must(g.Engine.StartArena(g.Context(), g.match))
}

func (g arenaFixture) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// host connects with a token of role host.
func (n *node) host(subject string) (*client, protocol.Welcome) {
	n.Helper()
	c := n.dial()
	c.ask(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, subject, now()+1e6)})
	var w protocol.Welcome
	c.reply(protocol.TypeWelcome).into(n.T, &w)
	return c, w
}
