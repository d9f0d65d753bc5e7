package ws

import (
	"context"
	"laststand/internal/timer"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// During a whole match a player reconnects alternately at two nodes. Each connection
// closes the one before. No push is missing and none is repeated.
func TestReconnectingBetweenNodesLosesNoPush(t *testing.T) {
	n := startParallel(t)
	nodes := []*node{n, n.addNode()}
	playerA, playerB := n.startDuel("d")
	playerA.mayLoseReplies = true
	playerA.handle(playerA.expectFrame(protocol.TypeMatchFound))
	runConcurrently(func() { playerB.play(nil) }, func() {
		for hops := 1; !playerA.over; hops++ {
			former := playerA.client
			nodes[hops%2].reconnectAndResume(playerA)
			former.expectClose(4409)
			framesLeft := rand.N(3) + 1
			playerA.play(func(frame) bool { framesLeft--; return framesLeft == 0 && hops < 10 })
		}
	})
	n.checkSameFrames(playerA, playerB, duel.Questions)
}

// A newer connection takes over the ticket, at any node.
func TestNewerConnectionAtOtherNodeTakesOverTicket(t *testing.T) {
	n := startParallel(t)
	other := n.addNode()
	former := newPlayer(n.connectPlayer("ada"), "ada")
	former.joinDuel("c")
	newer := other.connectPlayer("ada")
	former.expectClose(4409)
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 0 })
	newer.requestRefused(protocol.TypeDuelJoin, protocol.Empty{}, protocol.CodeAlreadyQueued)
}

// A former connection that does not know of the newer one does not withdraw its ticket
// when it ends.
func TestFormerConnectionKeepsTicketOfNewer(t *testing.T) {
	n := startParallel(t)
	n.dropReplaced.Store(true)
	other := n.addNode()
	former := n.connectPlayer("ada")
	newer := newPlayer(other.connectPlayer("ada"), "ada")
	newer.joinDuel("c")
	former.disconnect()
	n.eventually("the former session has ended", func() bool { return len(n.openSessions()) == 0 })
	if n.activity("ada") == (lobby.Activity{}) {
		t.Error("the ticket is gone")
	}
}

// If a notification of a newer connection was lost, a heartbeat finds the newer one.
func TestHeartbeatFindsNewerSession(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.PingInterval = 200 * time.Millisecond })
	n.dropReplaced.Store(true)
	other := n.addNode()
	former := n.connectPlayer("ada")
	other.connectPlayer("ada")
	former.expectClose(4409)
	if n.closedCount("4409") != 1 || other.closedCount("4409") != 0 {
		t.Errorf("closed at the first node %v, at the other %v", n.labelValues("closes_total"), other.labelValues("closes_total"))
	}
}

// A client that answers pings stays connected when heartbeats are late, because other calls
// keep the workers of the wheel busy. A client that answers nothing is closed.
func TestLateHeartbeatClosesNoLiveClient(t *testing.T) {
	t.Parallel()
	const interval = 100 * time.Millisecond
	wheel := timer.New(timer.Config{Workers: 1})
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) {
		c.Wheel.Close()
		c.PingInterval, c.Wheel = interval, wheel
	})
	ada, bob := n.connectPlayer("ada"), n.connectPlayer("bob")
	bob.conn.SetPingHandler(func(string) error { return nil })
	answerPing, pings := ada.conn.PingHandler(), 0
	ada.conn.SetPingHandler(func(data string) error {
		if pings++; pings == 4 {
			ada.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
		}
		return answerPing(data)
	})
	wheel.After(0, func() { time.Sleep(4 * interval) })
	ada.readUntil(protocol.TypeDuelLeft)
	bob.expectClose(int(protocol.CloseSilent))
}

func TestCloseReplacedClosesOnlyOlderSessions(t *testing.T) {
	n := startParallel(t)
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
	firstAssigned chan struct{} // closed when the first number was assigned
	proceed       chan struct{}
	assigned      atomic.Int32
}

func (d *delayedNumbers) Assign(ctx context.Context, game, player string) (int64, string, error) {
	number, former, err := d.SessionNumbers.Assign(ctx, game, player)
	if d.assigned.Add(1) == 1 {
		close(d.firstAssigned)
		<-d.proceed
	}
	return number, former, err
}

// Of two hellos at the same time, the session with the higher number stays, even if the other
// finishes last.
func TestOlderSessionThatBindsLastIsClosed(t *testing.T) {
	t.Parallel()
	numbers := &delayedNumbers{firstAssigned: make(chan struct{}), proceed: make(chan struct{})}
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) {
		numbers.SessionNumbers, c.SessionNumbers = c.SessionNumbers, numbers
	})
	older := n.dialAndGreet("ada", nil)
	<-numbers.firstAssigned
	newer := n.connectPlayer("ada")
	close(numbers.proceed)
	if frames, _ := older.expectClose(4409); len(frames) > 0 {
		t.Errorf("%s before the close frame", frames[0].raw)
	}
	newer.expectPong()
}
