package ws

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// A newer connection closes the former one and takes over its ticket. The end of the
// former one does not withdraw the ticket.
func TestNewerConnectionTakesOverTicket(t *testing.T) {
	n := startParallel(t)
	former := newPlayer(n.connectPlayer("ada"), "ada")
	former.joinDuel("c")
	newer := newPlayer(n.connectPlayer("ada"), "ada")
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 1 })
	newer.requestRefused(protocol.TypeDuelJoin, protocol.Empty{}, protocol.CodeAlreadyQueued)
	other := newPlayer(n.connectPlayer("bob"), "bob")
	other.joinDuel("c")
	runConcurrently(func() { newer.play(nil) }, func() { other.play(nil) })
	n.checkSameFrames(newer, other, duel.Questions)
}

// A newer connection that does not resume continues the match from the number in its
// welcome. The end of the former one does not detach it.
func TestNewerConnectionContinuesMatch(t *testing.T) {
	n := startParallel(t)
	former, other := n.startDuel("d")
	found := former.expectFrame(protocol.TypeMatchFound)
	former.expectFrame(protocol.TypeQuestion)
	c, welcome := n.connectAndResume(former.name, nil)
	if welcome.Playing == nil || *welcome.Playing != (protocol.Playing{Match: found.Match, Seq: 2}) {
		t.Fatalf("playing %+v", welcome.Playing)
	}
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 2 })
	newer := newPlayer(c, former.name)
	newer.match, newer.frameLog = found.Match, [][]byte{found.raw, nil}
	newer.answer(0)
	runConcurrently(func() { newer.play(nil) }, func() { other.play(nil) })
	newer.frameLog[1] = other.frameLog[1]
	n.checkSameFrames(newer, other, duel.Questions)
}

// A player who reconnects while the former connection is ending keeps the existing or
// the new ticket.
func TestTicketStaysWhileFormerConnectionEnds(t *testing.T) {
	n := startParallel(t)
	for i := range 30 {
		name := fmt.Sprint("p", i)
		former := newPlayer(n.connectPlayer(name), name)
		if i%2 == 0 {
			former.joinDuel(categoryName(i))
		}
		go former.disconnect() // the node may detect it at any time from now on
		newer := n.connectPlayer(name)
		newer.sendRequest(protocol.TypeDuelJoin, map[string]any{"category": categoryName(i), "bot_after_ms": 0})
		if f := newer.nextFrame(); f.Type == protocol.TypeError {
			newer.checkError(f, protocol.CodeAlreadyQueued)
		}
		n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 1 })
		if n.activity(name) == (lobby.Activity{}) {
			t.Fatal("the ticket is gone")
		}
		newer.disconnect()
		n.eventually("the newer session has ended", func() bool { return len(n.openSessions()) == 0 })
	}
}

func categoryName(i int) string { return fmt.Sprint("c", i) }

// A newer session waits while the former one unbinds its player.
func TestNewerSessionWaitsForUnbind(t *testing.T) {
	n := startParallel(t)
	former := n.connectPlayer("ada")
	formerSession := n.session("ada")
	formerSession.unbindMu.Lock()
	newer := n.dialAndGreet("ada", nil)
	former.expectClose(4409)
	n.connectPlayer("bob").expectPong()
	if current := n.session("ada"); current == formerSession {
		t.Error("the newer session is not registered")
	}
	if !n.session("ada").outbox.isBusy() {
		t.Error("the newer session was welcomed before the former one was unbound")
	}
	formerSession.unbindMu.Unlock()
	newer.expectReply(protocol.TypeWelcome)
}

// Nothing references a session that has ended, not even its match.
func TestEndedSessionIsGarbageCollected(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	playerA.expectFrame(protocol.TypeMatchFound)
	session := weak.Make(n.session(playerA.name))
	playerA.disconnect()
	n.eventually("the session is collected", func() bool {
		runtime.GC()
		return session.Value() == nil
	})
	playerB.expectFrame(protocol.TypeMatchFound)
	if !n.Engine.IsInMatch("demo", playerB.name) {
		t.Error("the match is over")
	}
}
