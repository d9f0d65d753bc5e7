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

// Every arena request is forwarded as sent, and gets the reply of the protocol.
func TestArenaRequestsArePassedOn(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.connectPlayer("ada")
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
		c.sendRequest(test.kind, json.RawMessage(test.data))
		if f := c.expectReply(test.reply); string(f.Data) != `{}` {
			t.Errorf("%s: %s", test.kind, f.raw)
		}
		if asked := n.arenas.takeCalls(); !slices.Equal(asked, []string{test.asked}) {
			t.Errorf("%s: calls %q, want %q", test.kind, asked, test.asked)
		}
		n.arenas.set(func(context.Context) error { return protocol.Errorf(protocol.CodeForbidden, "not yours") })
		c.sendRequest(test.kind, json.RawMessage(test.data))
		c.expectError(protocol.CodeForbidden)
		n.arenas.set(func(context.Context) error { return errors.New("dial tcp: a secret") })
		c.sendRequest(test.kind, json.RawMessage(test.data))
		c.expectError(protocol.CodeUnavailable)
		n.arenas.takeCalls()
	}
}

// The reply to a join comes before the pushes that it causes.
func TestTheArenaJoinReplyComesBeforeItsPushes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.connectPlayer("ada")
	n.arenas.joined = protocol.ArenaJoined{
		ArenaID: "a_1", Mode: "buzzer", Name: "Cup", As: "player", Team: "x",
		Teams: []protocol.TeamCount{{ID: "x", Name: "X", Players: 1}}, Players: 1, State: "lobby",
	}
	pushed := protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{ArenaID: "a_1"})
	n.arenas.then = func() { n.session("ada").Push("", pushed) }
	c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", Team: "x", As: "player"})
	if f := c.expectReply(protocol.TypeArenaJoined); string(f.Data) !=
		`{"arena_id":"a_1","mode":"buzzer","name":"Cup","as":"player","team":"x","teams":[{"id":"x","name":"X","players":1}],"players":1,"state":"lobby"}` {
		t.Errorf("%s", f.raw)
	}
	c.expectFrame(protocol.TypeArenaLobby)
	want := "join {Game:demo Player:ada Role:player ArenaJoin:{Code:123456 Team:x As:player}}"
	if asked := n.arenas.takeCalls(); !slices.Equal(asked, []string{want}) {
		t.Errorf("calls %q", asked)
	}
	for _, code := range []protocol.Code{
		protocol.CodeArenaFull, protocol.CodeArenaStarted, protocol.CodeArenaLocked, protocol.CodeKicked, protocol.CodeAlreadyQueued,
	} {
		n.arenas.set(func(context.Context) error { return protocol.Errorf(code, "no") })
		c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
		c.expectError(code)
	}
	c.expectPong()
}

// The token alone identifies a host. A host plays no duel.
func TestTheTokenAloneIdentifiesAHost(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, w := n.host("quizmaster")
	if w.PlayerID != "quizmaster" || w.Nickname != "quizmaster" || w.Game != "demo" || w.Playing != nil {
		t.Errorf("welcome %+v", w)
	}
	c.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	c.expectError(protocol.CodeForbidden)
	c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: "host"})
	c.expectReply(protocol.TypeArenaJoined)
	want := fmt.Sprintf("join {Game:demo Player:quizmaster Role:%s ArenaJoin:{Code:123456 Team: As:host}}", identity.RoleHost)
	if asked := n.arenas.takeCalls(); !slices.Equal(asked, []string{want}) {
		t.Errorf("calls %q", asked)
	}
}

// A host resumes by naming the match.
func TestHostResumes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	fixture := n.openArena("quizmaster")
	fixture.addWatcher("quizmaster", match.HostRole)
	fixture.addSeat("ada")
	fixture.startMatch()
	c := n.dial()
	c.sendRequest(protocol.TypeHello, protocol.Hello{
		Token: token(identity.RoleHost, "quizmaster", now()+1e6), Resume: &protocol.Resume{Match: fixture.match},
	})
	c.expectReply(protocol.TypeWelcome)
	c.expectReply(protocol.TypeMatchState)
	c.expectFrame(protocol.TypeMatchFound)
	c.expectFrame(protocol.TypeQuestion)
}

// A player who reconnects to an arena's lobby gets the arena in the welcome, and its
// pushes afterwards.
func TestTheWelcomeNamesTheArenaOfALobby(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	former := n.connectPlayer("ada")
	fixture := n.openArena("bob")
	fixture.addSeat("ada")
	c, w := n.resume("ada", nil)
	former.expectClose(4409)
	if want := (protocol.Playing{Match: fixture.match, ArenaID: fixture.id}); w.Playing == nil || *w.Playing != want {
		t.Fatalf("playing %+v, want %+v", w.Playing, want)
	}
	c.sendRequest(protocol.TypeMatchSync, protocol.Resume{Match: fixture.match})
	c.expectError(protocol.CodeNotInMatch)
	fixture.addSeat("cat")
	n.Engine.NotifyPlacesChanged(fixture.match)
	var there protocol.ArenaLobby
	c.expectFrame(protocol.TypeArenaLobby).decodeInto(t, &there)
	if there.ArenaID != fixture.id || there.Players != 2 {
		t.Errorf("lobby %+v", there)
	}
	fixture.startMatch()
	if f := c.readUntil(protocol.TypeMatchFound); f.Seq != 1 || f.Match != fixture.match {
		t.Errorf("%s", f.raw)
	}
	c.sendRequest(protocol.TypeMatchSync, protocol.Resume{Match: fixture.match})
	if f := c.readUntilReply(); f.Type != protocol.TypeMatchState {
		t.Errorf("%s", f.raw)
	}
}

// A player who disconnects in a lobby keeps the seat.
func TestSeatOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.connectPlayer("ada")
	fixture := n.openArena("bob")
	fixture.addSeat("ada")
	c.disconnect()
	n.eventually("the session has ended", func() bool { return len(n.openSessions()) == 0 })
	fixture.check(n.Engine.CheckSeat(t.Context(), fixture.match, "ada"))
	if activity := n.activity("ada"); activity.Match != fixture.match {
		t.Errorf("activity %+v", activity)
	}
	if asked := n.arenas.takeCalls(); len(asked) > 0 {
		t.Errorf("calls %q", asked)
	}
}

// A player who leaves an arena's match leaves the arena, too. A spectator has no seat to
// leave.
func TestLeavingAnArenasMatchLeavesTheArena(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, watcher := n.connectPlayer("ada"), n.connectPlayer("eve")
	fixture := n.openArena("bob")
	fixture.addSeat("ada")
	fixture.addWatcher("eve", match.SpectatorRole)
	c.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: fixture.match})
	c.expectReply(protocol.TypeMatchLeft)
	if asked, want := n.arenas.takeCalls(), []string{"leave demo ada " + fixture.id}; !slices.Equal(asked, want) {
		t.Errorf("calls %q, want %q", asked, want)
	}
	watcher.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: fixture.match})
	watcher.expectError(protocol.CodeNotInMatch)
	if asked := n.arenas.takeCalls(); len(asked) > 0 {
		t.Errorf("calls %q", asked)
	}
}
