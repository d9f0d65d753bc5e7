package ws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Every request of an arena is passed on as sent, and answered as the protocol says.
func TestArenaRequests(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.enter("ada")
	for _, test := range []struct{ kind, data, asked, reply string }{
		{protocol.TypeArenaLeave, `{"arena_id":"a_1"}`, "leave demo ada a_1", protocol.TypeArenaLeft},
		{protocol.TypeArenaStart, `{"arena_id":"a_1"}`, "start demo ada a_1", protocol.TypeArenaOK},
		{protocol.TypeArenaClose, `{"arena_id":"a_1"}`, "close demo ada a_1", protocol.TypeArenaOK},
		{protocol.TypeArenaLock, `{"arena_id":"a_1"}`, "lock demo ada a_1", protocol.TypeArenaOK},
		{protocol.TypeArenaNext, `{"arena_id":"a_1","after":-1}`, "next demo ada {ArenaID:a_1 After:-1}", protocol.TypeArenaOK},
		{protocol.TypeArenaKick, `{"arena_id":"a_1","player":"p"}`, "kick demo ada {ArenaID:a_1 Player:p Ban:false}", protocol.TypeArenaOK},
		{protocol.TypeArenaKick, `{"arena_id":"a_1","player":"p","ban":true}`, "kick demo ada {ArenaID:a_1 Player:p Ban:true}", protocol.TypeArenaOK},
	} {
		n.arenas.set(nil)
		c.ask(test.kind, json.RawMessage(test.data))
		if f := c.reply(test.reply); string(f.Data) != `{}` {
			t.Errorf("%s: %s", test.kind, f.raw)
		}
		if asked := n.arenas.takeCalls(); !slices.Equal(asked, []string{test.asked}) {
			t.Errorf("%s: asked %q, want %q", test.kind, asked, test.asked)
		}
		n.arenas.set(func(context.Context) error { return protocol.Errorf(protocol.CodeForbidden, "not yours") })
		c.ask(test.kind, json.RawMessage(test.data))
		c.expectError(protocol.CodeForbidden)
		n.arenas.set(func(context.Context) error { return errors.New("dial tcp: a secret") })
		c.ask(test.kind, json.RawMessage(test.data))
		c.expectError(protocol.CodeUnavailable)
		n.arenas.takeCalls()
	}
}

// The reply to a join comes before the pushes that it causes.
func TestArenaJoin(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.enter("ada")
	n.arenas.joined = protocol.ArenaJoined{
		ArenaID: "a_1", Mode: "buzzer", Name: "Cup", As: "player", Team: "x",
		Teams: []protocol.TeamCount{{ID: "x", Name: "X", Players: 1}}, Players: 1, State: "lobby",
	}
	pushed := protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{ArenaID: "a_1"})
	n.arenas.then = func() { n.session("ada").Push("", pushed) }
	c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", Team: "x", As: "player"})
	if f := c.reply(protocol.TypeArenaJoined); string(f.Data) !=
		`{"arena_id":"a_1","mode":"buzzer","name":"Cup","as":"player","team":"x","teams":[{"id":"x","name":"X","players":1}],"players":1,"state":"lobby"}` {
		t.Errorf("%s", f.raw)
	}
	c.expect(protocol.TypeArenaLobby)
	want := "join {Game:demo Player:ada Role:player ArenaJoin:{Code:123456 Team:x As:player}}"
	if asked := n.arenas.takeCalls(); !slices.Equal(asked, []string{want}) {
		t.Errorf("asked %q", asked)
	}
	for _, code := range []protocol.Code{
		protocol.CodeArenaFull, protocol.CodeArenaStarted, protocol.CodeArenaLocked, protocol.CodeKicked, protocol.CodeAlreadyQueued,
	} {
		n.arenas.set(func(context.Context) error { return protocol.Errorf(code, "no") })
		c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
		c.expectError(code)
	}
	c.expectPong()
}

// The token alone identifies a host. A host plays no duel.
func TestHost(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, w := n.host("quizmaster")
	if w.PlayerID != "quizmaster" || w.Nickname != "quizmaster" || w.Game != "demo" || w.Playing != nil {
		t.Errorf("welcome %+v", w)
	}
	c.ask(protocol.TypeDuelJoin, protocol.Empty{})
	c.expectError(protocol.CodeForbidden)
	c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: "host"})
	c.reply(protocol.TypeArenaJoined)
	want := fmt.Sprintf("join {Game:demo Player:quizmaster Role:%s ArenaJoin:{Code:123456 Team: As:host}}", identity.RoleHost)
	if asked := n.arenas.takeCalls(); !slices.Equal(asked, []string{want}) {
		t.Errorf("asked %q", asked)
	}
}

// A host resumes by naming the match.
func TestHostResumes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	g := n.openArena("quizmaster")
	g.addWatcher("quizmaster", match.AsHost)
	g.addSeat("ada")
	g.begin()
	c := n.dial()
	c.ask(protocol.TypeHello, protocol.Hello{
		Token: token(identity.RoleHost, "quizmaster", now()+1e6), Resume: &protocol.Resume{Match: g.match},
	})
	c.reply(protocol.TypeWelcome)
	c.reply(protocol.TypeMatchState)
	c.expect(protocol.TypeMatchFound)
	c.expect(protocol.TypeQuestion)
}

// A player who reconnects to an arena's lobby gets the arena in the welcome, and its
// pushes afterwards.
func TestWelcomeInALobby(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	former := n.enter("ada")
	g := n.openArena("bob")
	g.addSeat("ada")
	c, w := n.resume("ada", nil)
	former.expectClose(4409)
	if want := (protocol.Playing{Match: g.match, ArenaID: g.id}); w.Playing == nil || *w.Playing != want {
		t.Fatalf("playing %+v, want %+v", w.Playing, want)
	}
	c.ask(protocol.TypeMatchSync, protocol.Resume{Match: g.match})
	c.expectError(protocol.CodeNotInMatch)
	g.addSeat("cat")
	n.Engine.NotifyPlacesChanged(g.match)
	var there protocol.ArenaLobby
	c.expect(protocol.TypeArenaLobby).into(t, &there)
	if there.ArenaID != g.id || there.Players != 2 {
		t.Errorf("lobby %+v", there)
	}
	g.begin()
	if f := c.until(protocol.TypeMatchFound); f.Seq != 1 || f.Match != g.match {
		t.Errorf("%s", f.raw)
	}
	c.ask(protocol.TypeMatchSync, protocol.Resume{Match: g.match})
	if f := c.untilReply(); f.Type != protocol.TypeMatchState {
		t.Errorf("%s", f.raw)
	}
}

// A player who disconnects in a lobby keeps the seat.
func TestSeatOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.enter("ada")
	g := n.openArena("bob")
	g.addSeat("ada")
	c.disconnect()
	n.eventually("the session has ended", func() bool { return len(n.all()) == 0 })
	g.must(n.Engine.CheckSeat(t.Context(), g.match, "ada"))
	if activity := n.activity("ada"); activity.Match != g.match {
		t.Errorf("activity %+v", activity)
	}
	if asked := n.arenas.takeCalls(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

// Leaving an arena's match is leaving the arena. A spectator has no seat to leave.
func TestMatchLeaveInAnArena(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, watcher := n.enter("ada"), n.enter("eve")
	g := n.openArena("bob")
	g.addSeat("ada")
	g.addWatcher("eve", match.AsSpectator)
	c.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: g.match})
	c.reply(protocol.TypeMatchLeft)
	if asked, want := n.arenas.takeCalls(), []string{"leave demo ada " + g.id}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	watcher.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: g.match})
	watcher.expectError(protocol.CodeNotInMatch)
	if asked := n.arenas.takeCalls(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}
