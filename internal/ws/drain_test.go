package ws

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// startDrain drains the node in a goroutine. endDrain ends the drain's context.
func (n *node) startDrain() (endDrain context.CancelFunc, drainEnded <-chan struct{}) {
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
func TestDrainClosesIdleSessionsImmediately(t *testing.T) {
	n := startParallel(t)
	var clients []*client
	for i := range 20 {
		clients = append(clients, n.connectPlayer(fmt.Sprint("p", i)))
	}
	withoutHello := n.dial()
	queued := newPlayer(n.connectPlayer("waits"), "waits")
	queued.joinDuel("c")
	clients = append(clients, withoutHello, queued.client)
	n.eventually("all sessions are open", func() bool { return len(n.openSessions()) == len(clients) })
	_, drained := n.startDrain()
	for _, c := range clients {
		c.expectFrame(protocol.TypeDraining)
		if frames, _ := c.expectClose(1012); len(frames) > 0 {
			t.Errorf("%s after draining", frames[0].raw)
		}
	}
	<-drained
	for range 20 {
		c := n.dialAndGreet("eve", nil)
		c.expectClose(1012)
	}
}

// A playing session gets the draining push, plays to the end and is closed then. The
// last push comes before the close frame.
func TestDrainWaitsForMatches(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	playerA.handle(playerA.expectFrame(protocol.TypeMatchFound))
	idle := n.connectPlayer("idle")
	_, drained := n.startDrain()
	idle.expectClose(1012)
	var drainingPushes atomic.Int32
	for _, p := range []*player{playerA, playerB} {
		p.onUnnumbered = func(f frame) {
			if f.Type == protocol.TypeDraining {
				drainingPushes.Add(1)
			}
		}
	}
	runConcurrently(func() { playerA.play(nil) }, func() { playerB.play(nil) })
	n.checkSameFrames(playerA, playerB, duel.Questions)
	<-time.After(3 * drainPollInterval) // the settlement takes some time
	session, _ := n.Presence.Find("demo", playerA.name)
	session.Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{Match: playerA.match}))
	if frames, _ := playerA.expectClose(1012); len(frames) == 0 || frames[len(frames)-1].Type != protocol.TypeSettled {
		t.Errorf("closed before the settled push: %v", frames)
	}
	playerB.expectClose(1012)
	<-drained
	if drainingPushes.Load() != 2 {
		t.Errorf("%d of 2 got the draining push", drainingPushes.Load())
	}
}

// When the drain's context ends, all sessions are closed.
func TestDrainClosesAllWhenContextEnds(t *testing.T) {
	n := startParallel(t)
	playerA, playerB, _ := n.startFoundDuel()
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
// and none is left. A connection that arrives while the drain ends may be cut.
func TestDrainClosesArrivingConnections(t *testing.T) {
	t.Parallel()
	for range 10 {
		n := startNode(t)
		var running sync.WaitGroup
		for i := range 5 {
			c := n.connectPlayer(fmt.Sprint("early", i))
			running.Go(func() { c.expectClose(1012) }) // expectClose waits for the whole close handshake
		}
		for i := range 10 {
			running.Go(func() {
				c := n.dialAndGreet(fmt.Sprint("p", i), nil)
				c.expectDrained()
			})
		}
		n.drainNow()
		if remaining := len(n.openSessions()); remaining > 0 {
			t.Errorf("%d sessions left", remaining)
		}
		running.Wait()
	}
}

// expectDrained reads to the end, which is a close frame with code 1012 or, for a
// connection that got no session, a cut.
func (c *client) expectDrained() {
	c.Helper()
	var err error
	for err == nil {
		_, err = c.read()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || websocket.IsUnexpectedCloseError(err, websocket.CloseServiceRestart, websocket.CloseAbnormalClosure) {
		c.Errorf("%v instead of close 1012 or a cut", err)
	}
}

// A drain keeps the players and the host of an arena that has started, and closes those
// in a lobby. The seat in the lobby stays.
func TestDrainKeepsRunningArenas(t *testing.T) {
	n := startParallel(t)
	waiting, playing, watcher := n.connectPlayer("ada"), n.connectPlayer("bob"), n.connectPlayer("eve")
	host, _ := n.connectHost("quizmaster")
	lobbyArena, runningArena := n.openArena("quizmaster"), n.openArena("quizmaster")
	lobbyArena.addSeat("ada")
	runningArena.addSeat("bob")
	runningArena.addSeat("cat") // has no session
	runningArena.addWatcher("eve", match.SpectatorRole)
	runningArena.addWatcher("quizmaster", match.HostRole)
	runningArena.startMatch()
	playing.readUntil(protocol.TypeQuestion)
	host.readUntil(protocol.TypeQuestion)
	_, drained := n.startDrain()
	waiting.expectClose(1012)
	watcher.expectClose(1012)
	host.readUntil(protocol.TypeDraining)
	playing.readUntil(protocol.TypeDraining)
	host.expectPong()
	playing.expectPong()
	lobbyArena.requireNoError(n.Engine.CheckSeat(t.Context(), lobbyArena.matchID, "ada"))
	runningArena.requireNoError(n.Engine.CloseArena(t.Context(), runningArena.matchID))
	for _, c := range []*client{playing, host} {
		c.readUntil(protocol.TypeMatchOver)
		c.expectClose(1012)
	}
	<-drained
}
