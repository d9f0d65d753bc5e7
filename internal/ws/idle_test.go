package ws

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/lobby"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// CloseIdle closes sessions without a request for a minute, longest idle first, a share
// per call. A session in a match stays.
func TestCloseIdleClosesTheLongestIdleFirst(t *testing.T) {
	n := startParallel(t)
	n.startFoundDuel()
	idle, idler, busy := n.connectPlayer("idle"), n.connectPlayer("idler"), n.connectPlayer("busy")
	for i, name := range []string{"idle", "idler", "d.a", "d.b"} {
		n.session(name).lastRequest.Add(-idleAfter.Milliseconds() - 1000*int64(i))
	}
	if closed := n.CloseIdle(); closed != 1 {
		t.Errorf("%d closed", closed)
	}
	idler.expectRetryLater()
	idle.expectPong() // a ping does not count as a request
	if closed := n.CloseIdle(); closed != 1 {
		t.Errorf("%d closed", closed)
	}
	if _, reason := idle.expectClose(protocol.CloseOverloaded); reason == "" {
		t.Error("no reason")
	}
	if closed := n.CloseIdle(); closed != 0 {
		t.Errorf("%d closed", closed)
	}
	busy.expectPong()
}

// ageRequests moves the last request of players into the past.
func (n *node) ageRequests(age time.Duration, players ...string) {
	n.Helper()
	for i, name := range players {
		n.session(name).lastRequest.Add(-(age + time.Duration(i)*time.Second).Milliseconds())
	}
}

// When places are low, idle sessions are evicted, longest idle first. Sessions that
// wait for something are evicted only after a longer time, and those in a match never.
func TestIdleSessionsAreEvictedWhenPlacesAreLow(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) {
		c.MaxConnections = 10
		c.Limits.IdleCap = overload.NewLimiter(overload.LimiterConfig{Registry: registry}).NewCap("idle")
	})
	playerA, _, _ := n.startFoundDuel()
	idle, idler, busy := n.connectPlayer("idle"), n.connectPlayer("idler"), n.connectPlayer("busy")
	queued := newPlayer(n.connectPlayer("queued"), "queued")
	queued.joinDuel("own category")
	watching := n.connectPlayer("watches")
	watching.request(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}, protocol.TypeBoardOK)
	seated := n.connectPlayer("seated")
	n.openArena("host").addSeat("seated")
	n.ageRequests(2*time.Minute, "idle", "idler", "queued", "watches", "seated", "d.a", "d.b")
	n.evictIdle()
	if closed := n.closedCount("1013"); closed != 0 {
		t.Fatalf("%v closed while there are places", closed)
	}
	n.connectPlayer("late")
	n.connectPlayer("later") // the last place
	for _, c := range []*client{idler, idle} {
		c.expectRetryLater()
	}
	n.eventually("the places of the evicted sessions are free", func() bool { return len(n.openSessions()) == 8 })
	n.connectPlayer("p")
	n.connectPlayer("q")
	n.evictIdle()
	if closed := n.closedCount("1013"); closed != 2 {
		t.Fatalf("%v closed, although no other session is idle enough", closed)
	}
	n.ageRequests(waitingBonus+3*time.Minute, "seated") // first, since the timer also evicts
	n.ageRequests(waitingBonus+2*time.Minute, "watches")
	n.ageRequests(waitingBonus+time.Minute, "queued", "d.a", "d.b")
	n.evictIdle()
	watching.expectClose(protocol.CloseOverloaded)
	seated.expectClose(protocol.CloseOverloaded)
	for _, c := range []*client{queued.client, busy} {
		c.expectPong()
	}
	n.session("d.a").Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{}))
	playerA.readUntil(protocol.TypeSettled)
	if refused := refusalCount(t, registry, "refusals", "idle"); refused != 4 {
		t.Errorf("%v counted", refused)
	}
}

// In dry run no session is evicted, and the refusals are counted.
func TestDryRunEvictsNoIdleSession(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	n := startNode(t, func(c *Config, _ *lobby.DuelSettings) {
		c.MaxConnections = 1
		c.Limits.IdleCap = overload.NewLimiter(overload.LimiterConfig{Registry: registry, IsDryRun: func(string) bool { return true }}).NewCap("idle")
	})
	idle := n.connectPlayer("idle")
	n.ageRequests(2*time.Minute, "idle")
	n.evictIdle()
	idle.expectPong()
	if got := refusalCount(t, registry, "dry_run_refusals", "idle"); got != 1 {
		t.Errorf("%v counted", got)
	}
}

// When fewer places are free, an address may have fewer sessions, except for players in a
// match.
func TestPlacesPerAddressShrinkOnFullNode(t *testing.T) {
	n := startParallel(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections, c.Limits.PerAddress = 20, 8 })
	playerA, _, matchID := n.startFoundDuel()
	n.connectPlayer("x")
	n.connectPlayer("y")
	for i := range 10 {
		n.dialFrom(fmt.Sprint("198.51.100.", i)).sendHelloExpectWelcome(fmt.Sprint("p", i))
	}
	late := n.dial() // the fifth without an address, while 6 of 20 places are free
	late.sendHello("late", nil)
	late.expectRetryLater()
	n.dialFrom("198.51.100.99").sendHelloExpectWelcome("other").expectPong()
	playerA.disconnect()
	n.eventually("the disconnected sessions have ended", func() bool { return len(n.openSessions()) == 14 })
	n.connectPlayer("z")
	n.connectAndResume("d.a", &protocol.Resume{Match: matchID})
	later := n.dialAndGreet("later", nil)
	later.expectRetryLater()
}

// If one address has all connections and uses up PerAddress, the server reports the
// address.
func TestSingleAddressIsReported(t *testing.T) {
	t.Parallel()
	reported := make(chan netip.Addr, 9)
	n := startNode(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) {
		c.Limits.PerAddress = 2
		c.OnSingleAddress = func(address netip.Addr) { reported <- address }
	})
	n.dialFrom("10.0.0.7").sendHelloExpectWelcome("ada")
	n.dialFrom("10.0.0.7").sendHelloExpectWelcome("bob")
	n.dialFrom("10.0.0.7").expectRetryLater()
	if address := <-reported; address != netip.MustParseAddr("10.0.0.7") {
		t.Errorf("%v is reported", address)
	}
	n.dialFrom("10.0.0.8").sendHelloExpectWelcome("eve")
	n.dialFrom("10.0.0.7").expectRetryLater()
	if len(reported) > 0 {
		t.Error("reported although other addresses have connections")
	}
}
