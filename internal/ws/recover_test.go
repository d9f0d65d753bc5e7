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

// A panic fails the message that caused it, and nothing else.
func TestAPanicGetsAnInternalError(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.connectPlayer("ada")
	n.arenas.set(func(context.Context) error { panic("a secret") })
	c.sendRequest(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: "a_1"})
	if e := c.expectError(protocol.CodeInternal); strings.Contains(e.Message, "secret") {
		t.Errorf("message %q", e.Message)
	}
	c.expectPong()
	n.session("ada").Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{}))
	c.expectFrame(protocol.TypeSettled)
	n.arenas.set(nil)
	n.arenas.then = func() { panic("after the reply") }
	c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"})
	c.expectReply(protocol.TypeArenaJoined)
	c.expectPong()
	if panics := testutil.ToFloat64(n.metrics.panics); panics != 2 {
		t.Errorf("%v panics counted", panics)
	}
}

// While a store does not answer, every request is refused in time: requests behind the
// first wait less.
func TestRequestsFailSoonWhileAStoreHangs(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.callTimeout = 500 * time.Millisecond
	c := n.connectPlayer("ada")
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
		c.sendRequest(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	}
	for range asked {
		if e := c.checkError(c.nextFrame(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
			t.Errorf("%+v", e)
		}
	}
	n.arenas.set(nil)
	c.sendRequest(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	c.expectReply(protocol.TypeArenaOK)
	n.arenas.set(hangs)
	c.sendRequest(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	c.expectError(protocol.CodeUnavailable)
	little := n.callTimeout / slowCallDivisor
	for i, limit := range given {
		if first := i == 0 || i == asked; first != (limit > little) || limit > n.callTimeout {
			t.Errorf("request %d had %v", i, limit)
		}
	}
}
