package ws

import (
	"context"
	"errors"
	"sync"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// fakeDuelLimit is a DuelLimit of limit players.
type fakeDuelLimit struct {
	mu                  sync.Mutex
	maxPlayers, players int
	refusesHellos       bool       // refuses new hellos
	helloStates         chan error // if set: AwaitHello blocks until its context ends, and sends its result here
	afterAcquire        func()     // see onAcquire
}

func (l *fakeDuelLimit) AwaitHello(ctx context.Context) error {
	if l.helloStates != nil {
		l.helloStates <- nil // signals that AwaitHello blocks
		<-ctx.Done()
		l.helloStates <- ctx.Err()
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusesHellos {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "overloaded")
	}
	return nil
}

func (l *fakeDuelLimit) refuseHellos() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusesHellos = true
}

func (l *fakeDuelLimit) Acquire() error {
	l.mu.Lock()
	if l.players == l.maxPlayers {
		l.mu.Unlock()
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "overloaded")
	}
	l.players++
	afterAcquire := l.afterAcquire
	l.mu.Unlock()
	if afterAcquire != nil {
		afterAcquire()
	}
	return nil
}

// onAcquire sets a function that runs inside a successful Acquire, before it returns.
func (l *fakeDuelLimit) onAcquire(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.afterAcquire = f
}

func (l *fakeDuelLimit) Add() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.players++
}

func (l *fakeDuelLimit) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.players--
}

func (l *fakeDuelLimit) hasPlayers(n int) func() bool {
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.players == n
	}
}

// A player above the limit of duels gets a retry time and stays connected. A player in
// a duel counts until it is over, also after reconnecting.
func TestDuelPlayersAreLimited(t *testing.T) {
	t.Parallel()
	duelLimit := &fakeDuelLimit{maxPlayers: 2}
	n := startNode(t, func(c *Config, d *lobby.DuelSettings) { c.DuelLimit, d.Questions = duelLimit, 2 })
	playerA, playerB := n.startDuel("d")
	late := n.connectPlayer("late")
	late.sendRequest(protocol.TypeDuelJoin, map[string]any{})
	if e := late.expectError(protocol.CodeOverloaded); e.RetryAfterMS != 4000 {
		t.Errorf("%+v", e)
	}
	for _, p := range []*player{playerA, playerB} {
		p.match = p.expectFrame(protocol.TypeMatchFound).Match
	}
	playerA.sendRequest(protocol.TypeDuelJoin, map[string]any{})
	playerA.checkError(playerA.readUntilReply(), protocol.CodeAlreadyPlaying)
	n.eventually("a second join counts once", duelLimit.hasPlayers(2))
	playerA.disconnect()
	n.eventually("a disconnected player does not count", duelLimit.hasPlayers(1))
	playerA.client, _ = n.connectAndResume(playerA.name, nil)
	n.eventually("a reconnected player counts again", duelLimit.hasPlayers(2))
	playerA.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: playerA.match})
	playerA.readUntil(protocol.TypeMatchOver)
	playerB.readUntil(protocol.TypeMatchOver)
	n.eventually("nobody counts after the match", duelLimit.hasPlayers(0))
	late.sendRequest(protocol.TypeDuelJoin, map[string]any{})
	late.expectReply(protocol.TypeDuelQueued)
	n.eventually("the next duel counts", duelLimit.hasPlayers(1))
	late.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
	late.expectReply(protocol.TypeDuelLeft)
	n.eventually("a left duel does not count", duelLimit.hasPlayers(0))
	late.sendRequest(protocol.TypeDuelJoin, map[string]any{"bot_after_ms": -1})
	late.expectError(protocol.CodeBadRequest)
	n.eventually("a refused join does not count", duelLimit.hasPlayers(0))
}

// A new hello above the limit gets a retry time. A player in a match is admitted, with
// or without a resume.
func TestNewHellosAreRejectedUnderLoad(t *testing.T) {
	t.Parallel()
	duelLimit := &fakeDuelLimit{maxPlayers: 2}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.DuelLimit = duelLimit })
	playerA, playerB := n.startDuel("d")
	matchID := playerA.expectFrame(protocol.TypeMatchFound).Match
	playerB.expectFrame(protocol.TypeMatchFound)
	duelLimit.refuseHellos()
	c := n.dial()
	c.sendHello("late", nil)
	if ms := c.expectRetryLater(); ms != 4000 {
		t.Errorf("retry after %d ms", ms)
	}
	for _, resume := range []*protocol.Resume{nil, {Match: matchID}} {
		playerA.disconnect()
		if _, welcome := n.connectAndResume(playerA.name, resume); welcome.Playing == nil {
			t.Error("a player in a match has no match in the welcome")
		}
	}
}

// A player who returns to a ticket counts again, and a player whose duel starts does
// too, once each.
func TestDuelLimitCountsTickets(t *testing.T) {
	t.Parallel()
	duelLimit := &fakeDuelLimit{maxPlayers: 2}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.DuelLimit = duelLimit })
	former := newPlayer(n.connectPlayer("ada"), "ada")
	former.joinDuel("c")
	newer := n.connectPlayer("ada")
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 1 })
	n.eventually("the ticket is counted", duelLimit.hasPlayers(1))
	newer.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	newer.expectError(protocol.CodeAlreadyQueued)
	n.eventually("the ticket counts once", duelLimit.hasPlayers(1))
	newer.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
	newer.expectReply(protocol.TypeDuelLeft)
	n.eventually("a left ticket does not count", duelLimit.hasPlayers(0))
	n.session("ada").DuelChanged("m", true)
	n.eventually("a duel counts", duelLimit.hasPlayers(1))
	n.session("ada").DuelChanged("m", false)
	n.eventually("a duel that is over does not count", duelLimit.hasPlayers(0))
	duelLimit.onAcquire(func() { n.session("ada").DuelChanged("m", true) })
	newer.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	newer.expectReply(protocol.TypeDuelQueued)
	n.eventually("a duel that starts in the meantime counts once", duelLimit.hasPlayers(1))
}

// A drain does not wait for hellos that wait for admission.
func TestDrainEndsWaitingHellos(t *testing.T) {
	t.Parallel()
	duelLimit := &fakeDuelLimit{helloStates: make(chan error)}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.DuelLimit = duelLimit })
	c := n.dial()
	c.sendHello("late", nil)
	if err := <-duelLimit.helloStates; err != nil {
		t.Error(err)
	}
	_, drained := n.startDrain()
	if err := <-duelLimit.helloStates; !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitHello returned %v", err)
	}
	c.expectFrame(protocol.TypeDraining)
	if frames, _ := c.expectClose(protocol.CloseDraining); len(frames) > 0 {
		t.Errorf("%s before the close", frames[0].raw)
	}
	<-drained
}
