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
func TestPanicGetsInternalError(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	n.arenas.setResult(func(context.Context) error { panic("a secret") })
	if e := c.requestRefused(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: "a_1"}, protocol.CodeInternal); strings.Contains(e.Message, "secret") {
		t.Errorf("message %q", e.Message)
	}
	c.expectPong()
	n.session("ada").Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{}))
	c.expectFrame(protocol.TypeSettled)
	n.arenas.setResult(nil)
	n.arenas.afterReply = func() { panic("after the reply") }
	c.request(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456"}, protocol.TypeArenaJoined)
	c.expectPong()
	if panics := testutil.ToFloat64(n.metrics.panics); panics != 2 {
		t.Errorf("%v panics counted", panics)
	}
}

// While a store does not answer, every request is refused in time: requests behind the
// first wait less.
func TestRequestsFailSoonWhileStoreHangs(t *testing.T) {
	n := startParallel(t)
	n.callTimeout = 500 * time.Millisecond
	c := n.connectPlayer("ada")
	var mu sync.Mutex
	var timeouts []time.Duration
	hang := func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		mu.Lock()
		timeouts = append(timeouts, time.Until(deadline))
		mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	n.arenas.setResult(hang)
	const requests = 4
	for range requests {
		c.sendRequest(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"})
	}
	for range requests {
		if e := c.checkError(c.nextFrame(), protocol.CodeUnavailable); e.RetryAfterMS == 0 {
			t.Errorf("%+v", e)
		}
	}
	n.arenas.setResult(nil)
	c.request(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"}, protocol.TypeArenaOK)
	n.arenas.setResult(hang)
	c.requestRefused(protocol.TypeArenaLock, protocol.ArenaRef{ArenaID: "a_1"}, protocol.CodeUnavailable)
	shortTimeout := n.callTimeout / slowCallDivisor
	for i, timeout := range timeouts {
		if isFirst := i == 0 || i == requests; isFirst != (timeout > shortTimeout) || timeout > n.callTimeout {
			t.Errorf("request %d had %v", i, timeout)
		}
	}
}
