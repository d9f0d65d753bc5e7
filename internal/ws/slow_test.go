package ws

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// A client that stops reading is closed, and its opponent notices nothing.
func TestSlowReaderIsClosed(t *testing.T) {
	n := startParallel(t, func(_ *Config, d *lobby.DuelSettings) { d.LimitMS = 1000 })
	slow, opponent := n.startDuel("d")
	matchID := slow.expectFrame(protocol.TypeMatchFound).Match
	se := n.session(slow.name)
	largePush := protocol.EncodePush(protocol.TypeSettled, strings.Repeat("x", 64<<10))
	for i := 0; se.closing.Load() == nil; i++ {
		if i > 10_000 {
			t.Fatal("the outbox has no limit")
		}
		se.Push("", largePush)
	}
	if n.closedCount("4450") != 1 {
		t.Errorf("closed: %v", n.labelValues("closes_total"))
	}
	opponent.play(nil) // the questions time out for the other player
	if want := 2 + 3*duel.Questions + extensionCount(opponent.frameLog); len(opponent.frameLog) != want {
		t.Errorf("%d frames, want %d", len(opponent.frameLog), want)
	}
	slow.disconnect()
	c, _ := n.connectAndResume(slow.name, &protocol.Resume{Match: matchID})
	var state protocol.MatchState
	c.expectReply(protocol.TypeMatchState).decodeInto(t, &state)
	c.expectFrames(opponent.frameLog)
}

// A slow client that continues to read gets the frames that were being written, and then
// the close code.
func TestSlowReaderGetsCloseFrame(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	se := n.session("ada")
	largePush := protocol.EncodePush(protocol.TypeSettled, strings.Repeat("x", 64<<10))
	for se.closing.Load() == nil {
		se.Push("", largePush)
	}
	if _, reason := c.expectClose(4450); reason != slowReaderReason {
		t.Errorf("reason %q", reason)
	}
	if n.closedCount("4450") != 1 {
		t.Errorf("closed: %v", n.labelValues("closes_total"))
	}
}

// A client that reads nothing at all is closed before the outbox is full.
func TestClientThatStopsReadingIsClosed(t *testing.T) {
	n := startParallel(t)
	n.parker.WriteTimeout = 100 * time.Millisecond
	c := n.connectPlayer("ada")
	se := n.session("ada")
	largePush := protocol.EncodePush(protocol.TypeSettled, strings.Repeat("x", 60<<10))
	for range 16 {
		se.Push("", largePush)
	}
	n.eventually("the session is closed", func() bool { return n.closedCount("4450") == 1 && len(n.openSessions()) == 0 })
	c.disconnect()
}

// An idle session has one goroutine. The test is not parallel, because it counts all
// goroutines of the process.
func TestIdleSessionHasOneGoroutine(t *testing.T) {
	n := startNode(t)
	const sessions = 30
	clients := make([]*client, sessions)
	for i := range clients {
		clients[i] = n.connectPlayer("p" + categoryName(i))
		clients[i].expectPong()
	}
	n.eventually("only one goroutine per session runs", func() bool { return countGoroutines("ws.(*session)") == sessions })
	for _, c := range clients {
		c.expectPong()
		c.disconnect()
	}
	n.eventually("no goroutine of a session runs", func() bool { return countGoroutines("ws.(*session)") == 0 })
}

// countGoroutines counts the goroutines whose stack contains a text.
func countGoroutines(inStack string) (count int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range bytes.Split(stacks, []byte("\n\n")) {
		if bytes.Contains(stack, []byte(inStack)) {
			count++
		}
	}
	return count
}

// A node holds very many sessions at rest. The allocator has a class of 576 bytes; the next one
// is 640.
func TestSessionIsSmall(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(session{}); size > 576 {
		t.Errorf("a session has %d bytes", size)
	}
}
