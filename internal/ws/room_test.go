package ws

import (
	"context"
	"errors"
	"sync"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// hall is a Room for so many.
type hall struct {
	mu           sync.Mutex
	most, inside int
	shut         bool       // to newcomers
	waits        chan error // set: newcomers wait in vain, and why they gave up
	entered      func()     // see then
}

func (h *hall) Await(ctx context.Context) error {
	if h.waits != nil {
		h.waits <- nil // it does
		<-ctx.Done()
		h.waits <- ctx.Err()
		return ctx.Err()
	}
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
	if h.inside == h.most {
		h.mu.Unlock()
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
	}
	h.inside++
	then := h.entered
	h.mu.Unlock()
	if then != nil {
		then()
	}
	return nil
}

// then sets what is done when somebody has entered, before it is known to whom.
func (h *hall) then(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entered = f
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

// Who comes back to a ticket takes room again, and so does who is led into a duel, once
// each; an arena takes none.
func TestRoomForTickets(t *testing.T) {
	t.Parallel()
	h := &hall{most: 2}
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Room = h })
	former := newPlayer(n.enter("ada"), "ada")
	former.join("c")
	newer := n.enter("ada")
	former.closes(4409)
	n.eventually("the former has ended", func() bool { return len(n.all()) == 1 })
	n.eventually("the ticket is counted", h.holds(1))
	newer.ask(protocol.TypeDuelJoin, protocol.Empty{})
	newer.refused(protocol.CodeAlreadyQueued)
	n.eventually("once", h.holds(1))
	newer.ask(protocol.TypeDuelLeave, protocol.Empty{})
	newer.reply(protocol.TypeDuelLeft)
	n.eventually("and no more", h.holds(0))
	push := func(kind string, data any) {
		n.session("ada").Push("m", protocol.EncodeNumbered("m", kind, data).Frame(1))
		newer.expect(kind)
	}
	push(protocol.TypeMatchFound, protocol.MatchFound{Mode: "buzzer", ArenaID: "a"})
	n.eventually("an arena takes no room", h.holds(0))
	push(protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel"})
	n.eventually("a duel does", h.holds(1))
	push(protocol.TypeMatchOver, protocol.MatchOver{})
	n.eventually("until it is over", h.holds(0))
	h.then(func() {
		n.session("ada").Push("m", protocol.EncodeNumbered("m", protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel"}).Frame(1))
	})
	newer.ask(protocol.TypeDuelJoin, protocol.Empty{})
	newer.reply(protocol.TypeDuelQueued)
	n.eventually("one that begins meanwhile is counted once", h.holds(1))
}

// A drain waits for nobody who waits for a turn.
func TestDrainOfNewcomers(t *testing.T) {
	t.Parallel()
	h := &hall{waits: make(chan error)}
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Room = h })
	c := n.dial()
	c.hello("late", nil)
	if err := <-h.waits; err != nil {
		t.Error(err)
	}
	_, drained := n.leaving()
	if err := <-h.waits; !errors.Is(err, context.Canceled) {
		t.Errorf("it waited until %v", err)
	}
	c.expect(protocol.TypeDraining)
	if before, _ := c.closes(protocol.CloseDraining); len(before) > 0 {
		t.Errorf("%s before the close", before[0].raw)
	}
	<-drained
}
