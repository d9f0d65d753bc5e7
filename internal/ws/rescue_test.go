package ws

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// A panic costs the message that caused it, and nothing else.
func TestPanic(t *testing.T) {
	t.Parallel()
	n := start(t)
	c := n.enter("ada")
	n.arenas.set(func(context.Context) error { panic("a secret") })
	c.ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: "a_1"})
	if e := c.refused(protocol.CodeInternal); strings.Contains(e.Message, "secret") {
		t.Errorf("told %q", e.Message)
	}
	c.alive()
	n.session("ada").Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{}))
	c.expect(protocol.TypeSettled)
	n.arenas.set(nil)
	n.arenas.then = func() { panic("after the reply") }
	c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
	c.reply(protocol.TypeArenaJoined)
	c.alive()
	if panics := testutil.ToFloat64(n.metrics.panics); panics != 2 {
		t.Errorf("%v panics counted", panics)
	}
}

// While a store does not answer every request is refused in time: those behind
// the first are not waited for as long.
func TestStoreHangs(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.callWithin = 500 * time.Millisecond
	c := n.enter("ada")
	var mu sync.Mutex
	var given []time.Duration
	hangs := func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		mu.Lock()
		given = append(given, time.Until(deadline))
		mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	n.arenas.set(hangs)
	const asked = 4
	for range asked {
		c.ask(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	}
	for range asked {
		if e := c.refusal(c.next(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
			t.Errorf("%+v", e)
		}
	}
	n.arenas.set(nil)
	c.ask(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	c.reply(protocol.TypeArenaOK)
	n.arenas.set(hangs)
	c.ask(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	c.refused(protocol.CodeUnavailable)
	little := n.callWithin / hurry
	for i, patience := range given {
		if first := i == 0 || i == asked; first != (patience > little) || patience > n.callWithin {
			t.Errorf("request %d had %v", i, patience)
		}
	}
}
