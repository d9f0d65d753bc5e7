package ws

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// A newer connection closes the former and takes its ticket over; the former's
// end does not withdraw it.
func TestReplacedWhileWaiting(t *testing.T) {
	t.Parallel()
	n := start(t)
	former := newPlayer(n.enter("ada"), "ada")
	former.join("c")
	newer := newPlayer(n.enter("ada"), "ada")
	former.closes(4409)
	n.eventually("the former has ended", func() bool { return len(n.all()) == 1 })
	newer.ask(protocol.TypeDuelJoin, protocol.Empty{})
	newer.refused(protocol.CodeAlreadyQueued)
	other := newPlayer(n.enter("bob"), "bob")
	other.join("c")
	together(func() { newer.play(nil) }, func() { other.play(nil) })
	n.alike(newer, other, duel.Questions)
}

// A newer connection without a word of resuming goes on with the match from
// the number that its welcome names; the former's end does not detach it.
func TestReplacedWhilePlaying(t *testing.T) {
	t.Parallel()
	n := start(t)
	former, other := n.duel("d")
	found := former.expect(protocol.TypeMatchFound)
	former.expect(protocol.TypeQuestion)
	c, w := n.resume(former.name, nil)
	if w.Playing == nil || *w.Playing != (protocol.Playing{Match: found.Match, Seq: 2}) {
		t.Fatalf("playing %+v", w.Playing)
	}
	former.closes(4409)
	n.eventually("the former has ended", func() bool { return len(n.all()) == 2 })
	newer := newPlayer(c, former.name)
	newer.match, newer.log = found.Match, [][]byte{found.raw, nil}
	newer.answer(0)
	together(func() { newer.play(nil) }, func() { other.play(nil) })
	newer.log[1] = other.log[1]
	n.alike(newer, other, duel.Questions)
}

// Whoever comes back while the former connection is just ending has to keep
// what it was told: a ticket that it entered, or found, stays.
func TestTicketWhileTheFormerEnds(t *testing.T) {
	t.Parallel()
	n := start(t)
	for i := range 30 {
		name := fmt.Sprint("p", i)
		former := newPlayer(n.enter(name), name)
		if i%2 == 0 {
			former.join(category(i))
		}
		go former.cut() // the node notices at any time from now on
		newer := n.enter(name)
		newer.ask(protocol.TypeDuelJoin, map[string]any{"category": category(i), "bot_after_ms": 0})
		if f := newer.next(); f.Type == protocol.TypeError {
			newer.refusal(f, protocol.CodeAlreadyQueued)
		}
		n.eventually("the former has ended", func() bool { return len(n.all()) == 1 })
		if n.busy(name) == (lobby.Activity{}) {
			t.Fatal("the ticket is gone")
		}
		newer.cut()
		n.eventually("the newer has ended", func() bool { return len(n.all()) == 0 })
	}
}

func category(i int) string { return fmt.Sprint("c", i) }

// While a session gives up its player's place a newer one waits.
func TestPlaceIsGivenUpFirst(t *testing.T) {
	t.Parallel()
	n := start(t)
	former := n.enter("ada")
	se := n.session("ada")
	se.place.Lock()
	newer := n.dial()
	newer.hello("ada", nil)
	former.closes(4409)
	n.enter("bob").alive()
	if sessions := n.session("ada"); sessions == se {
		t.Error("the newer one has not entered")
	}
	if !n.session("ada").out.busy() {
		t.Error("the newer one was welcomed before")
	}
	se.place.Unlock()
	newer.reply(protocol.TypeWelcome)
}

// Nothing keeps a session that has ended, not even the match that it was in.
func TestEndedSessionIsLetGo(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	session := weak.Make(n.session(a.name))
	a.cut()
	n.eventually("it is collected", func() bool {
		runtime.GC()
		return session.Value() == nil
	})
	b.expect(protocol.TypeMatchFound)
	if !n.Engine.IsInMatch("demo", b.name) {
		t.Error("the match is over")
	}
}
