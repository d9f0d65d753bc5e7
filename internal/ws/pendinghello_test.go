package ws

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/lobby"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

const (
	reservedShare   = 20 // one in so many places is for players in a match
	minPendingLimit = 64 // the limit of sessions without a hello is at least this
)

// connectSilent opens connections that send nothing, one after the other.
func (n *node) connectSilent(address string, count int) []*client {
	n.Helper()
	clients := make([]*client, count)
	for i := range clients {
		before := testutil.ToFloat64(n.metrics.sessions)
		clients[i] = n.dialFrom(address)
		n.eventually("the connection is counted", func() bool { return testutil.ToFloat64(n.metrics.sessions) > before })
	}
	return clients
}

// Sessions without a hello are limited. Above the limit the server evicts the oldest one of
// the address with the most, so that other clients can send a hello.
func TestSessionsWithoutHelloAreEvicted(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	n := startNode(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) {
		c.MaxConnections = 100
		c.Limits.PendingCap = overload.NewLimiter(overload.LimiterConfig{Registry: registry}).NewCap("pending_hello")
	})
	first := n.connectSilent("198.51.100.1", 1)[0]
	largestGroup := n.connectSilent("2a00:1:2:3::1", minPendingLimit-1)
	n.dialFrom("198.51.100.2").sendHelloExpectWelcome("cat").expectPong()
	largestGroup[0].expectRetryLater()
	first.sendHelloExpectWelcome("ada").expectPong()
	largestGroup[1].sendHelloExpectWelcome("bob").expectPong() // a slow client can still send its hello
	otherNetwork := n.connectSilent("2a00:1:2:3:4::1", 3)
	n.dialFrom("2a00:1:2:3::5") // another connection of the network replaces one of its own
	largestGroup[2].expectRetryLater()
	otherNetwork[0].sendHelloExpectWelcome("eve").expectPong()
	if refused := refusalCount(t, registry, "refusals", "pending_hello"); refused != 2 || n.closedCount("1013") != 2 {
		t.Errorf("%v counted, %v closed", refused, n.closedCount("1013"))
	}
}

// A full node admits a player by evicting a session without a hello, of an address that
// has more of them.
func TestFullNodeEvictsPendingHello(t *testing.T) {
	n := startParallel(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections = reservedShare })
	playerA, _, matchID := n.startFoundDuel()
	playerA.disconnect()
	n.eventually("the disconnected session has ended", func() bool { return len(n.openSessions()) == 1 })
	withoutHello := n.connectSilent("198.51.100.1", reservedShare-1)
	n.dialFrom("198.51.100.1").expectRetryLater()
	n.connectAndResume("d.a", &protocol.Resume{Match: matchID})
	withoutHello[0].expectRetryLater()
}
