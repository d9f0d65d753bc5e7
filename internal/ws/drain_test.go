package ws

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// leaving drains the node beside the test, with patience until over is called.
func (n *node) leaving() (over context.CancelFunc, done <-chan struct{}) {
	ctx, over := context.WithCancel(context.Background())
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		n.Drain(ctx)
	}()
	n.Cleanup(func() {
		over()
		<-drained
	})
	return over, drained
}

// Who is idle is told and closed at once, hello or not; nobody else comes in.
func TestDrainIdle(t *testing.T) {
	t.Parallel()
	n := start(t)
	var clients []*client
	for i := range 20 {
		clients = append(clients, n.enter(fmt.Sprint("p", i)))
	}
	silent := n.dial()
	waits := newPlayer(n.enter("waits"), "waits")
	waits.join("c")
	clients = append(clients, silent, waits.client)
	n.eventually("all are in", func() bool { return len(n.all()) == len(clients) })
	_, drained := n.leaving()
	for _, c := range clients {
		c.expect(protocol.TypeDraining)
		if before, _ := c.closes(1012); len(before) > 0 {
			t.Errorf("%s after draining", before[0].raw)
		}
	}
	<-drained
	for range 20 {
		c := n.dial()
		c.hello("eve", nil)
		c.closes(1012)
	}
}

// Who plays is told, plays to the end and is closed then: the last push is
// there before the close frame.
func TestDrainPlaying(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	a.handle(a.expect(protocol.TypeMatchFound))
	idle := n.enter("idle")
	_, drained := n.leaving()
	idle.closes(1012)
	var told atomic.Int32
	for _, p := range []*player{a, b} {
		p.unnumbered = func(f frame) {
			if f.Type == protocol.TypeDraining {
				told.Add(1)
			}
		}
	}
	together(func() { a.play(nil) }, func() { b.play(nil) })
	n.alike(a, b, duel.Questions)
	<-time.After(3 * drainLook) // a ledger takes its time
	sub, _ := n.Presence.Find("demo", a.name)
	sub.Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{Match: a.match}))
	if before, _ := a.closes(1012); len(before) == 0 || before[len(before)-1].Type != protocol.TypeSettled {
		t.Errorf("closed before it was said that the result is settled: %v", before)
	}
	b.closes(1012)
	<-drained
	if told.Load() != 2 {
		t.Errorf("%d of 2 were told", told.Load())
	}
}

// When the drain is over, so is everything.
func TestDrainOver(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	b.expect(protocol.TypeMatchFound)
	over, drained := n.leaving()
	a.until(protocol.TypeDraining)
	a.ask(protocol.TypeDuelJoin, protocol.Empty{})
	if e := a.refusal(a.untilReply(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
		t.Errorf("while draining: %+v", e)
	}
	a.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
	if e := a.refusal(a.untilReply(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
		t.Errorf("while draining: %+v", e)
	}
	over()
	a.closes(1012)
	b.closes(1012)
	<-drained
}

// Drains and connections at once: whoever gets in is closed in order, and
// nobody is left behind.
func TestDrainWhileComing(t *testing.T) {
	t.Parallel()
	for range 10 {
		n := start(t)
		var coming sync.WaitGroup
		for i := range 5 {
			c := n.enter(fmt.Sprint("early", i))
			coming.Go(func() { c.closes(1012) }) // else each is waited for
		}
		for i := range 10 {
			coming.Go(func() {
				c := n.dial()
				c.hello(fmt.Sprint("p", i), nil)
				c.closes(1012)
			})
		}
		n.end()
		if left := len(n.all()); left > 0 {
			t.Errorf("%d sessions left", left)
		}
		coming.Wait()
	}
}

// In arenas only who plays or hosts what has begun is kept; a seat in a lobby
// is there when its player comes back.
func TestDrainArenas(t *testing.T) {
	t.Parallel()
	n := start(t)
	waits, plays, looksOn := n.enter("ada"), n.enter("bob"), n.enter("eve")
	host, _ := n.host("quizmaster")
	lobby, running := n.gather("quizmaster"), n.gather("quizmaster")
	lobby.sit("ada")
	running.sit("bob")
	running.sit("cat") // somewhere else
	running.watch("eve", match.AsSpectator)
	running.watch("quizmaster", match.AsHost)
	running.begin()
	plays.until(protocol.TypeQuestion)
	host.until(protocol.TypeQuestion)
	_, drained := n.leaving()
	waits.closes(1012)
	looksOn.closes(1012)
	host.until(protocol.TypeDraining)
	plays.until(protocol.TypeDraining)
	host.alive()
	plays.alive()
	lobby.must(n.Engine.CheckSeat(t.Context(), lobby.match, "ada"))
	running.must(n.Engine.CloseArena(t.Context(), running.match))
	for _, c := range []*client{plays, host} {
		c.until(protocol.TypeMatchOver)
		c.closes(1012)
	}
	<-drained
}
