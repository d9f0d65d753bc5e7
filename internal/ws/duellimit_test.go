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
	mu            sync.Mutex
	limit, used   int
	refusesHellos bool       // refuses new hellos
	waiting       chan error // if set: AwaitHello blocks until its context ends, and sends its result here
	acquired      func()     // see onAcquire
}

func (h *fakeDuelLimit) AwaitHello(ctx context.Context) error {
	if h.waiting != nil {
		h.waiting <- nil // signals that AwaitHello blocks
		<-ctx.Done()
		h.waiting <- ctx.Err()
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refusesHellos {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "overloaded")
	}
	return nil
}

func (h *fakeDuelLimit) refuseHellos() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusesHellos = true
}

func (h *fakeDuelLimit) Acquire() error {
	h.mu.Lock()
	if h.used == h.limit {
		h.mu.Unlock()
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "overloaded")
	}
	h.used++
	then := h.acquired
	h.mu.Unlock()
	if then != nil {
		then()
	}
	return nil
}

// onAcquire sets a function that runs inside a successful Acquire, before it returns.
func (h *fakeDuelLimit) onAcquire(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acquired = f
}

func (h *fakeDuelLimit) Add() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used++
}

func (h *fakeDuelLimit) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used--
}

func (h *fakeDuelLimit) isUsed(n int) func() bool {
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.used == n
	}
}

// A player above the limit of duels gets a retry time and stays connected. A player in
// a duel counts until it is over, also after reconnecting.
func TestDuelPlayersAreLimited(t *testing.T) {
	t.Parallel()
	h := &fakeDuelLimit{limit: 2}
	n := startNode(t, func(c *Config, d *lobby.DuelSettings) { c.DuelLimit, d.Questions = h, 2 })
	playerA, playerB := n.duel("d")
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
	n.eventually("a second join counts once", h.isUsed(2))
	playerA.disconnect()
	n.eventually("a disconnected player does not count", h.isUsed(1))
	playerA.client, _ = n.resume(playerA.name, nil)
	n.eventually("a reconnected player counts again", h.isUsed(2))
	playerA.sendRequest(protocol.TypeMatchLeave, protocol.MatchLeave{Match: playerA.match})
	playerA.readUntil(protocol.TypeMatchOver)
	playerB.readUntil(protocol.TypeMatchOver)
	n.eventually("nobody counts after the match", h.isUsed(0))
	late.sendRequest(protocol.TypeDuelJoin, map[string]any{})
	late.expectReply(protocol.TypeDuelQueued)
	n.eventually("the next duel counts", h.isUsed(1))
	late.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
	late.expectReply(protocol.TypeDuelLeft)
	n.eventually("a left duel does not count", h.isUsed(0))
	late.sendRequest(protocol.TypeDuelJoin, map[string]any{"bot_after_ms": -1})
	late.expectError(protocol.CodeBadRequest)
	n.eventually("a refused join does not count", h.isUsed(0))
}

// A new hello above the limit gets a retry time. A player in a match is admitted, with
// or without a resume.
func TestNewHellosAreRejectedUnderLoad(t *testing.T) {
	t.Parallel()
	h := &fakeDuelLimit{limit: 2}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.DuelLimit = h })
	playerA, playerB := n.duel("d")
	match := playerA.expectFrame(protocol.TypeMatchFound).Match
	playerB.expectFrame(protocol.TypeMatchFound)
	h.refuseHellos()
	c := n.dial()
	c.sendHello("late", nil)
	if ms := c.expectRetryLater(); ms != 4000 {
		t.Errorf("retry after %d ms", ms)
	}
	for _, from := range []*protocol.Resume{nil, {Match: match}} {
		playerA.disconnect()
		if _, w := n.resume(playerA.name, from); w.Playing == nil {
			t.Error("a player in a match has no match in the welcome")
		}
	}
}

// A player who returns to a ticket counts again, and a player whose duel starts does
// too, once each. A player in an arena does not count.
func TestDuelLimitCountsTickets(t *testing.T) {
	t.Parallel()
	h := &fakeDuelLimit{limit: 2}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.DuelLimit = h })
	former := newPlayer(n.connectPlayer("ada"), "ada")
	former.join("c")
	newer := n.connectPlayer("ada")
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 1 })
	n.eventually("the ticket is counted", h.isUsed(1))
	newer.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	newer.expectError(protocol.CodeAlreadyQueued)
	n.eventually("the ticket counts once", h.isUsed(1))
	newer.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
	newer.expectReply(protocol.TypeDuelLeft)
	n.eventually("a left ticket does not count", h.isUsed(0))
	push := func(kind string, data any) {
		n.session("ada").Push("m", protocol.EncodeNumberedPush("m", kind, data).Frame(1))
		newer.expectFrame(kind)
	}
	push(protocol.TypeMatchFound, protocol.MatchFound{Mode: "buzzer", ArenaID: "a"})
	n.eventually("an arena does not count", h.isUsed(0))
	push(protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel"})
	n.eventually("a duel counts", h.isUsed(1))
	push(protocol.TypeMatchOver, protocol.MatchOver{})
	n.eventually("a duel that is over does not count", h.isUsed(0))
	h.onAcquire(func() {
		n.session("ada").Push("m", protocol.EncodeNumberedPush("m", protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel"}).Frame(1))
	})
	newer.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	newer.expectReply(protocol.TypeDuelQueued)
	n.eventually("a duel that starts in the meantime counts once", h.isUsed(1))
}

// A drain does not wait for hellos that wait for admission.
func TestDrainEndsWaitingHellos(t *testing.T) {
	t.Parallel()
	h := &fakeDuelLimit{waiting: make(chan error)}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.DuelLimit = h })
	c := n.dial()
	c.sendHello("late", nil)
	if err := <-h.waiting; err != nil {
		t.Error(err)
	}
	_, drained := n.startDrain()
	if err := <-h.waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitHello returned %v", err)
	}
	c.expectFrame(protocol.TypeDraining)
	if before, _ := c.expectClose(protocol.CloseDraining); len(before) > 0 {
		t.Errorf("%s before the close", before[0].raw)
	}
	<-drained
}
