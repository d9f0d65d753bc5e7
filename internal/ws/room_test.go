package ws

import (
	"context"
	"sync"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// hall is a Room for so many.
type hall struct {
	mu           sync.Mutex
	most, inside int
	shut         bool // to newcomers
}

func (h *hall) Await(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shut {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
	}
	return nil
}

func (h *hall) shutDoor() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut = true
}

func (h *hall) Enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside == h.most {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
	}
	h.inside++
	return nil
}

func (h *hall) Return() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inside++
}

func (h *hall) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inside--
}

func (h *hall) holds(n int) func() bool {
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.inside == n
	}
}

// Where there is no room for a duel who asks for one is told when to come again, and
// stays connected; who plays does so to the end, over another connection too, and
// makes room for the next one then.
func TestRoomForDuels(t *testing.T) {
	t.Parallel()
	h := &hall{most: 2}
	n := start(t, func(c *Config, d *lobby.Duel) { c.Room, d.Questions = h, 2 })
	a, b := n.duel("d")
	late := n.enter("late")
	late.ask(protocol.TypeDuelJoin, map[string]any{})
	if e := late.refused(protocol.CodeOverloaded); e.RetryAfterMS != 4000 {
		t.Errorf("%+v", e)
	}
	for _, p := range []*player{a, b} {
		p.match = p.expect(protocol.TypeMatchFound).Match
	}
	a.ask(protocol.TypeDuelJoin, map[string]any{})
	a.refusal(a.untilReply(), protocol.CodeAlreadyPlaying)
	n.eventually("who asked for a second one is in it once", h.holds(2))
	a.cut()
	n.eventually("who is lost takes no room", h.holds(1))
	a.client, _ = n.resume(a.name, nil)
	n.eventually("and does so again on return", h.holds(2))
	a.ask(protocol.TypeMatchLeave, protocol.MatchLeave{Match: a.match})
	a.until(protocol.TypeMatchOver)
	b.until(protocol.TypeMatchOver)
	n.eventually("there is room after a match", h.holds(0))
	late.ask(protocol.TypeDuelJoin, map[string]any{})
	late.reply(protocol.TypeDuelQueued)
	n.eventually("and it is taken", h.holds(1))
	late.ask(protocol.TypeDuelLeave, protocol.Empty{})
	late.reply(protocol.TypeDuelLeft)
	n.eventually("given up", h.holds(0))
	late.ask(protocol.TypeDuelJoin, map[string]any{"bot_after_ms": -1})
	late.refused(protocol.CodeBadRequest)
	n.eventually("and not taken by who is refused", h.holds(0))
}

// Where newcomers have no turn soon they are told when to come again; who is in a match
// comes in, whether they say so or not.
func TestNewcomersHaveNoTurn(t *testing.T) {
	t.Parallel()
	h := &hall{most: 2}
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Room = h })
	a, b := n.duel("d")
	match := a.expect(protocol.TypeMatchFound).Match
	b.expect(protocol.TypeMatchFound)
	h.shutDoor()
	c := n.dial()
	c.hello("late", nil)
	if ms := c.comesAgain(); ms != 4000 {
		t.Errorf("come again in %d ms", ms)
	}
	for _, from := range []*protocol.Resume{nil, {Match: match}} {
		a.cut()
		if _, w := n.resume(a.name, from); w.Playing == nil {
			t.Error("who plays has no match")
		}
	}
}
