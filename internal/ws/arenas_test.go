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
func TestArenaRequestsAreForwarded(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	for _, test := range []struct{ kind, data, wantCall, reply string }{
		{protocol.TypeArenaLeave, `{"arena_id":"a_1"}`, "leave demo ada a_1", protocol.TypeArenaLeft},
		{protocol.TypeArenaStart, `{"arena_id":"a_1"}`, "start demo ada a_1", protocol.TypeArenaOK},
		{protocol.TypeArenaClose, `{"arena_id":"a_1"}`, "close demo ada a_1", protocol.TypeArenaOK},
		{protocol.TypeArenaLock, `{"arena_id":"a_1"}`, "lock demo ada a_1", protocol.TypeArenaOK},
		{protocol.TypeArenaNext, `{"arena_id":"a_1","after":-1}`, "next demo ada {ArenaID:a_1 After:-1}", protocol.TypeArenaOK},
		{protocol.TypeArenaKick, `{"arena_id":"a_1","player":"p"}`, "kick demo ada {ArenaID:a_1 Player:p Ban:false}", protocol.TypeArenaOK},
		{protocol.TypeArenaKick, `{"arena_id":"a_1","player":"p","ban":true}`, "kick demo ada {ArenaID:a_1 Player:p Ban:true}", protocol.TypeArenaOK},
	} {
		n.arenas.setResult(nil)
		if f := c.request(test.kind, json.RawMessage(test.data), test.reply); string(f.Data) != `{}` {
			t.Errorf("%s: %s", test.kind, f.raw)
		}
		if calls := n.arenas.takeCalls(); !slices.Equal(calls, []string{test.wantCall}) {
			t.Errorf("%s: calls %q, want %q", test.kind, calls, test.wantCall)
		}
		n.arenas.setResult(func(context.Context) error { return protocol.Errorf(protocol.CodeForbidden, "not yours") })
		c.requestRefused(test.kind, json.RawMessage(test.data), protocol.CodeForbidden)
		n.arenas.setResult(func(context.Context) error { return errors.New("dial tcp: a secret") })
		c.requestRefused(test.kind, json.RawMessage(test.data), protocol.CodeUnavailable)
		n.arenas.takeCalls()
	}
}

// The reply to arena.extend lists the players with extra time.
func TestExtraTimeIsForwarded(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	extend := protocol.ArenaExtend{ArenaID: "a_1", Player: "p", Percent: 50}
	if f := c.request(protocol.TypeArenaExtend, extend, protocol.TypeArenaExtended); string(f.Data) != `{"extra":[{"player":"p","nickname":"Ada","percent":50}]}` {
		t.Errorf("%s", f.raw)
	}
	if calls := n.arenas.takeCalls(); !slices.Equal(calls, []string{"extend demo ada {ArenaID:a_1 Player:p Nickname: Percent:50}"}) {
		t.Errorf("calls %q", calls)
	}
	c.requestRefused(protocol.TypeArenaExtend, json.RawMessage(`{"arena_id":"a_1","player":"p"}`), protocol.CodeBadRequest)
	n.arenas.setResult(func(context.Context) error { return protocol.Errorf(protocol.CodeForbidden, "not yours") })
	c.requestRefused(protocol.TypeArenaExtend, extend, protocol.CodeForbidden)
}

// The reply to a join comes before the pushes that it causes.
func TestArenaJoinReplyPrecedesItsPushes(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	n.arenas.joined = protocol.ArenaJoined{
		ArenaID: "a_1", Mode: "buzzer", Name: "Cup", As: "player", Team: "x",
		Teams: []protocol.TeamCount{{ID: "x", Name: "X", Players: 1}}, Players: 1, State: "lobby",
	}
	pushed := protocol.EncodePush(protocol.TypeArenaLobby, protocol.ArenaLobby{ArenaID: "a_1"})
	n.arenas.afterReply = func() { n.session("ada").Push("", pushed) }
	if f := c.request(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", Team: "x", As: "player"}, protocol.TypeArenaJoined); string(f.Data) !=
		`{"arena_id":"a_1","mode":"buzzer","name":"Cup","as":"player","team":"x","teams":[{"id":"x","name":"X","players":1}],"players":1,"state":"lobby"}` {
		t.Errorf("%s", f.raw)
	}
	c.expectFrame(protocol.TypeArenaLobby)
	want := "join {Game:demo Player:ada Role:player ArenaJoin:{Code:123456 Team:x As:player}}"
	if calls := n.arenas.takeCalls(); !slices.Equal(calls, []string{want}) {
		t.Errorf("calls %q", calls)
	}
	for _, code := range []protocol.Code{
		protocol.CodeArenaFull, protocol.CodeArenaStarted, protocol.CodeArenaLocked, protocol.CodeKicked, protocol.CodeAlreadyQueued,
	} {
		n.arenas.setResult(func(context.Context) error { return protocol.Errorf(code, "no") })
		c.requestRefused(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"}, code)
	}
	c.expectPong()
}

// The token alone identifies a host. A host plays no duel.
func TestTokenAloneIdentifiesHost(t *testing.T) {
	n := startParallel(t)
	c, welcome := n.connectHost("quizmaster")
	if welcome.PlayerID != "quizmaster" || welcome.Nickname != "quizmaster" || welcome.Game != "demo" || welcome.Playing != nil {
		t.Errorf("welcome %+v", welcome)
	}
	c.requestRefused(protocol.TypeDuelJoin, protocol.Empty{}, protocol.CodeForbidden)
	c.request(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: "host"}, protocol.TypeArenaJoined)
	want := fmt.Sprintf("join {Game:demo Player:quizmaster Role:%s ArenaJoin:{Code:123456 Team: As:host}}", identity.RoleHost)
	if calls := n.arenas.takeCalls(); !slices.Equal(calls, []string{want}) {
		t.Errorf("calls %q", calls)
	}
}

// A host resumes by naming the match.
func TestHostResumesByMatchID(t *testing.T) {
	n := startParallel(t)
	arena := n.openArena("quizmaster")
	arena.addWatcher("quizmaster", match.HostRole)
	arena.addSeat("ada")
	arena.startMatch()
	c := n.dial()
	c.sendRequest(protocol.TypeHello, protocol.Hello{
		Token: token(identity.RoleHost, "quizmaster", now()+1e6), Resume: &protocol.Resume{Match: arena.matchID},
	})
	c.expectReply(protocol.TypeWelcome)
	c.expectReply(protocol.TypeMatchState)
	c.expectFrame(protocol.TypeMatchFound)
	c.expectFrame(protocol.TypeQuestion)
}

// A player who reconnects to an arena's lobby gets the arena in the welcome, and its
// pushes afterwards.
func TestWelcomeNamesArenaInLobby(t *testing.T) {
	n := startParallel(t)
	former := n.connectPlayer("ada")
	arena := n.openArena("bob")
	arena.addSeat("ada")
	c, welcome := n.connectAndResume("ada", nil)
	former.expectClose(4409)
	if want := (protocol.Playing{Match: arena.matchID, ArenaID: arena.id}); welcome.Playing == nil || *welcome.Playing != want {
		t.Fatalf("playing %+v, want %+v", welcome.Playing, want)
	}
	c.requestRefused(protocol.TypeMatchSync, protocol.Resume{Match: arena.matchID}, protocol.CodeNotInMatch)
	arena.addSeat("cat")
	n.Engine.NotifyPlacesChanged(arena.matchID)
	var lobby protocol.ArenaLobby
	c.expectFrame(protocol.TypeArenaLobby).decodeInto(t, &lobby)
	if lobby.ArenaID != arena.id || lobby.Players != 2 {
		t.Errorf("lobby %+v", lobby)
	}
	arena.startMatch()
	if f := c.readUntil(protocol.TypeMatchFound); f.Seq != 1 || f.Match != arena.matchID {
		t.Errorf("%s", f.raw)
	}
	c.sendRequest(protocol.TypeMatchSync, protocol.Resume{Match: arena.matchID})
	if f := c.readUntilReply(); f.Type != protocol.TypeMatchState {
		t.Errorf("%s", f.raw)
	}
}

// A player who disconnects in a lobby keeps the seat.
func TestSeatOutlivesTheConnection(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	arena := n.openArena("bob")
	arena.addSeat("ada")
	c.disconnect()
	n.eventually("the session has ended", func() bool { return len(n.openSessions()) == 0 })
	arena.requireNoError(n.Engine.CheckSeat(t.Context(), arena.matchID, "ada"))
	if activity := n.activity("ada"); activity.Match != arena.matchID {
		t.Errorf("activity %+v", activity)
	}
	if calls := n.arenas.takeCalls(); len(calls) > 0 {
		t.Errorf("calls %q", calls)
	}
}

// A player who leaves an arena's match leaves the arena, too. A spectator has no seat to
// leave.
func TestLeavingArenaMatchLeavesArena(t *testing.T) {
	n := startParallel(t)
	c, watcher := n.connectPlayer("ada"), n.connectPlayer("eve")
	arena := n.openArena("bob")
	arena.addSeat("ada")
	arena.addWatcher("eve", match.SpectatorRole)
	c.request(protocol.TypeMatchLeave, protocol.MatchLeave{Match: arena.matchID}, protocol.TypeMatchLeft)
	if calls, want := n.arenas.takeCalls(), []string{"leave demo ada " + arena.id}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	watcher.requestRefused(protocol.TypeMatchLeave, protocol.MatchLeave{Match: arena.matchID}, protocol.CodeNotInMatch)
	if calls := n.arenas.takeCalls(); len(calls) > 0 {
		t.Errorf("calls %q", calls)
	}
}
