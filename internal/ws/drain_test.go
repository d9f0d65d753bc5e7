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

// startDrain drains the node in a goroutine. endDrain ends the drain's context.
func (n *node) startDrain() (endDrain context.CancelFunc, done <-chan struct{}) {
	ctx, endDrain := context.WithCancel(context.Background())
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		n.Drain(ctx)
	}()
	n.Cleanup(func() {
		endDrain()
		<-drained
	})
	return endDrain, drained
}

// An idle session gets the draining push and is closed immediately, with or without a
// hello. New sessions are refused.
func TestADrainClosesIdleSessionsImmediately(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var clients []*client
	for i := range 20 {
		clients = append(clients, n.connectPlayer(fmt.Sprint("p", i)))
	}
	silent := n.dial()
	waits := newPlayer(n.connectPlayer("waits"), "waits")
	waits.join("c")
	clients = append(clients, silent, waits.client)
	n.eventually("all sessions are open", func() bool { return len(n.openSessions()) == len(clients) })
	_, drained := n.startDrain()
	for _, c := range clients {
		c.expectFrame(protocol.TypeDraining)
		if before, _ := c.expectClose(1012); len(before) > 0 {
			t.Errorf("%s after draining", before[0].raw)
		}
	}
	<-drained
	for range 20 {
		c := n.dial()
		c.sendHello("eve", nil)
		c.expectClose(1012)
	}
}

// A playing session gets the draining push, plays to the end and is closed then. The
// last push comes before the close frame.
func TestADrainWaitsForMatches(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	playerA, playerB := n.duel("d")
	playerA.handle(playerA.expectFrame(protocol.TypeMatchFound))
	idle := n.connectPlayer("idle")
	_, drained := n.startDrain()
	idle.expectClose(1012)
	var reported atomic.Int32
	for _, p := range []*player{playerA, playerB} {
		p.unnumbered = func(f frame) {
			if f.Type == protocol.TypeDraining {
				reported.Add(1)
			}
		}
	}
	runConcurrently(func() { playerA.play(nil) }, func() { playerB.play(nil) })
	n.checkSameFrames(playerA, playerB, duel.Questions)
	<-time.After(3 * drainPollInterval) // the settlement takes some time
	sub, _ := n.Presence.Find("demo", playerA.name)
	sub.Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{Match: playerA.match}))
	if before, _ := playerA.expectClose(1012); len(before) == 0 || before[len(before)-1].Type != protocol.TypeSettled {
		t.Errorf("closed before the settled push: %v", before)
	}
	playerB.expectClose(1012)
	<-drained
	if reported.Load() != 2 {
		t.Errorf("%d of 2 got the draining push", reported.Load())
	}
}

// When the drain's context ends, all sessions are closed.
func TestADrainClosesAllWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	playerA, playerB := n.duel("d")
	playerA.expectFrame(protocol.TypeMatchFound)
	playerB.expectFrame(protocol.TypeMatchFound)
	endDrain, drained := n.startDrain()
	playerA.readUntil(protocol.TypeDraining)
	playerA.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	if e := playerA.checkError(playerA.readUntilReply(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
		t.Errorf("while draining: %+v", e)
	}
	playerA.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
	if e := playerA.checkError(playerA.readUntilReply(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
		t.Errorf("while draining: %+v", e)
	}
	endDrain()
	playerA.expectClose(1012)
	playerB.expectClose(1012)
	<-drained
}

// When connections arrive during a drain, each registered session gets its close frame
// and none is left.
func TestADrainClosesConnectionsThatArrive(t *testing.T) {
	t.Parallel()
	for range 10 {
		n := startNode(t)
		var coming sync.WaitGroup
		for i := range 5 {
			c := n.connectPlayer(fmt.Sprint("early", i))
			coming.Go(func() { c.expectClose(1012) }) // expectClose waits for the whole close handshake
		}
		for i := range 10 {
			coming.Go(func() {
				c := n.dial()
				c.sendHello(fmt.Sprint("p", i), nil)
				c.expectClose(1012)
			})
		}
		n.drainNow()
		if left := len(n.openSessions()); left > 0 {
			t.Errorf("%d sessions left", left)
		}
		coming.Wait()
	}
}

// A drain keeps the players and the host of an arena that has started, and closes those
// in a lobby. The seat in the lobby stays.
func TestADrainKeepsRunningArenas(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	waits, plays, watcher := n.connectPlayer("ada"), n.connectPlayer("bob"), n.connectPlayer("eve")
	host, _ := n.host("quizmaster")
	lobby, running := n.openArena("quizmaster"), n.openArena("quizmaster")
	lobby.addSeat("ada")
	running.addSeat("bob")
	running.addSeat("cat") // has no session
	running.addWatcher("eve", match.SpectatorRole)
	running.addWatcher("quizmaster", match.HostRole)
	running.startMatch()
	plays.readUntil(protocol.TypeQuestion)
	host.readUntil(protocol.TypeQuestion)
	_, drained := n.startDrain()
	waits.expectClose(1012)
	watcher.expectClose(1012)
	host.readUntil(protocol.TypeDraining)
	plays.readUntil(protocol.TypeDraining)
	host.expectPong()
	plays.expectPong()
	lobby.check(n.Engine.CheckSeat(t.Context(), lobby.match, "ada"))
	running.check(n.Engine.CloseArena(t.Context(), running.match))
	for _, c := range []*client{plays, host} {
		c.readUntil(protocol.TypeMatchOver)
		c.expectClose(1012)
	}
	<-drained
}
