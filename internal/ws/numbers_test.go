package ws

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// During a whole match a player reconnects alternately at two nodes. Each connection
// closes the one before. No push is missing and none is repeated.
func TestANewerConnectionAtAnotherNodeReplacesTheFormer(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	nodes := []*node{n, n.node()}
	playerA, playerB := n.duel("d")
	playerA.lossy = true
	playerA.handle(playerA.expectFrame(protocol.TypeMatchFound))
	runConcurrently(func() { playerB.play(nil) }, func() {
		for hops := 1; !playerA.over; hops++ {
			former := playerA.client
			nodes[hops%2].reenter(playerA)
			former.expectClose(4409)
			left := rand.N(3) + 1
			playerA.play(func(frame) bool { left--; return left == 0 && hops < 10 })
		}
	})
	n.checkSameFrames(playerA, playerB, duel.Questions)
}

// A newer connection takes over the ticket, at any node.
func TestANewerConnectionAtAnotherNodeTakesOverTheTicket(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	other := n.node()
	former := newPlayer(n.connectPlayer("ada"), "ada")
	former.join("c")
	newer := other.connectPlayer("ada")
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 0 })
	newer.sendRequest(protocol.TypeDuelJoin, protocol.Empty{})
	newer.expectError(protocol.CodeAlreadyQueued)
}

// A former connection that does not know of the newer one does not withdraw its ticket
// when it ends.
func TestTheFormerDoesNotWithdrawTheTicketOfTheNewer(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.dropReplaced.Store(true)
	other := n.node()
	former := n.connectPlayer("ada")
	newer := newPlayer(other.connectPlayer("ada"), "ada")
	newer.join("c")
	former.disconnect()
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 0 })
	if n.activity("ada") == (lobby.Activity{}) {
		t.Error("the ticket is gone")
	}
}

// If a notification of a newer connection was lost, a heartbeat finds the newer one.
func TestHeartbeatFindsANewerSession(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { c.PingInterval = 200 * time.Millisecond })
	n.dropReplaced.Store(true)
	other := n.node()
	former := n.connectPlayer("ada")
	other.connectPlayer("ada")
	former.expectClose(4409)
	if n.closedCount("4409") != 1 || other.closedCount("4409") != 0 {
		t.Errorf("closed at the first node %v, at the other %v", n.labels("closes_total"), other.labels("closes_total"))
	}
}

func TestCloseReplacedClosesOnlyOlderSessions(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c := n.connectPlayer("ada")
	number := n.session("ada").number
	n.CloseReplaced("demo", "ada", number-1) // a late notification of a former session
	n.CloseReplaced("demo", "ada", number)   // a notification of the session itself
	n.CloseReplaced("demo", "bob", number+1)
	c.expectPong()
	n.CloseReplaced("demo", "ada", number+1)
	c.expectClose(4409)
}

// delayedNumbers delays the reply with the first number that it assigns.
type delayedNumbers struct {
	SessionNumbers
	given   chan struct{} // closed when the first number was assigned
	proceed chan struct{}
	numbers atomic.Int32
}

func (l *delayedNumbers) Assign(ctx context.Context, game, player string) (int64, string, error) {
	number, former, err := l.SessionNumbers.Assign(ctx, game, player)
	if l.numbers.Add(1) == 1 {
		close(l.given)
		<-l.proceed
	}
	return number, former, err
}

// Of two hellos at the same time, the session with the higher number stays, even if the other
// finishes last.
func TestAnOlderSessionThatBindsLastIsClosed(t *testing.T) {
	t.Parallel()
	held := &delayedNumbers{given: make(chan struct{}), proceed: make(chan struct{})}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) { held.SessionNumbers, c.SessionNumbers = c.SessionNumbers, held })
	older := n.dial()
	older.sendHello("ada", nil)
	<-held.given
	newer := n.connectPlayer("ada")
	close(held.proceed)
	if before, _ := older.expectClose(4409); len(before) > 0 {
		t.Errorf("%s before the close frame", before[0].raw)
	}
	newer.expectPong()
}
