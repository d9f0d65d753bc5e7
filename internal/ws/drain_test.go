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

// startDrain drains the node in a goroutine until over is called.
func (n *node) startDrain() (over context.CancelFunc, done <-chan struct{}) {
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

// An idle session gets the draining push and is closed immediately, with or without a
// hello. New sessions are refused.
func TestDrainIdle(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var clients []*client
	for i := range 20 {
		clients = append(clients, n.enter(fmt.Sprint("p", i)))
	}
	silent := n.dial()
	waits := newPlayer(n.enter("waits"), "waits")
	waits.join("c")
	clients = append(clients, silent, waits.client)
	n.eventually("all are in", func() bool { return len(n.all()) == len(clients) })
	_, drained := n.startDrain()
	for _, c := range clients {
		c.expect(protocol.TypeDraining)
		if before, _ := c.expectClose(1012); len(before) > 0 {
			t.Errorf("%s after draining", before[0].raw)
		}
	}
	<-drained
	for range 20 {
		c := n.dial()
		c.hello("eve", nil)
		c.expectClose(1012)
	}
}

// A playing session gets the draining push, plays to the end and is closed then. The
// last push comes before the close frame.
func TestDrainPlaying(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	a, b := n.duel("d")
	a.handle(a.expect(protocol.TypeMatchFound))
	idle := n.enter("idle")
	_, drained := n.startDrain()
	idle.expectClose(1012)
	var reported atomic.Int32
	for _, p := range []*player{a, b} {
		p.unnumbered = func(f frame) {
			if f.Type == protocol.TypeDraining {
				reported.Add(1)
			}
		}
	}
	together(func() { a.play(nil) }, func() { b.play(nil) })
	n.checkSameFrames(a, b, duel.Questions)
	<-time.After(3 * drainPoll) // a ledger takes some time
	sub, _ := n.Presence.Find("demo", a.name)
	sub.Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{Match: a.match}))
	if before, _ := a.expectClose(1012); len(before) == 0 || before[len(before)-1].Type != protocol.TypeSettled {
		t.Errorf("closed before the settled push: %v", before)
	}
	b.expectClose(1012)
	<-drained
	if reported.Load() != 2 {
		t.Errorf("%d of 2 got the draining push", reported.Load())
	}
}

// When the drain's context ends, all sessions are closed.
func TestDrainOver(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	b.expect(protocol.TypeMatchFound)
	over, drained := n.startDrain()
	a.until(protocol.TypeDraining)
	a.ask(protocol.TypeDuelJoin, protocol.Empty{})
	if e := a.checkError(a.untilReply(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
		t.Errorf("while draining: %+v", e)
	}
	a.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
	if e := a.checkError(a.untilReply(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
		t.Errorf("while draining: %+v", e)
	}
	over()
	a.expectClose(1012)
	b.expectClose(1012)
	<-drained
}

// When connections arrive during a drain, each registered session gets its close frame
// and none is left.
func TestDrainWhileComing(t *testing.T) {
	t.Parallel()
	for range 10 {
		n := startNode(t)
		var coming sync.WaitGroup
		for i := range 5 {
			c := n.enter(fmt.Sprint("early", i))
			coming.Go(func() { c.expectClose(1012) }) // expectClose waits for the whole close handshake
		}
		for i := range 10 {
			coming.Go(func() {
				c := n.dial()
				c.hello(fmt.Sprint("p", i), nil)
				c.expectClose(1012)
			})
		}
		n.drainNow()
		if left := len(n.all()); left > 0 {
			t.Errorf("%d sessions left", left)
		}
		coming.Wait()
	}
}

// A drain keeps the players and the host of an arena that has started, and closes those
// in a lobby. The seat in the lobby stays.
func TestDrainArenas(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	waits, plays, watcher := n.enter("ada"), n.enter("bob"), n.enter("eve")
	host, _ := n.host("quizmaster")
	lobby, running := n.openArena("quizmaster"), n.openArena("quizmaster")
	lobby.addSeat("ada")
	running.addSeat("bob")
	running.addSeat("cat") // at no node
	running.addWatcher("eve", match.AsSpectator)
	running.addWatcher("quizmaster", match.AsHost)
	running.begin()
	plays.until(protocol.TypeQuestion)
	host.until(protocol.TypeQuestion)
	_, drained := n.startDrain()
	waits.expectClose(1012)
	watcher.expectClose(1012)
	host.until(protocol.TypeDraining)
	plays.until(protocol.TypeDraining)
	host.expectPong()
	plays.expectPong()
	lobby.must(n.Engine.CheckSeat(t.Context(), lobby.match, "ada"))
	running.must(n.Engine.CloseArena(t.Context(), running.match))
	for _, c := range []*client{plays, host} {
		c.until(protocol.TypeMatchOver)
		c.expectClose(1012)
	}
	<-drained
}
