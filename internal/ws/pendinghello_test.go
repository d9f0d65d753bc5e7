package ws

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/lobby"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// pendingHelloCount returns how many sessions have sent no hello. The server counts a
// session after its client is connected.
func (n *node) pendingHelloCount() int64 {
	n.Server.mu.Lock()
	defer n.Server.mu.Unlock()
	return n.pendingHello.count
}

// connectSilent opens connections that send nothing, one after the other.
func (n *node) connectSilent(address string, count int) []*client {
	n.Helper()
	clients := make([]*client, count)
	for i := range clients {
		before := n.pendingHelloCount()
		clients[i] = n.dialFrom(address)
		n.eventually("the connection is counted", func() bool { return n.pendingHelloCount() > before })
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
		c.Limits.PendingHelloCap = overload.NewLimiter(overload.LimiterConfig{Registry: registry}).NewCap("pending_hello")
	})
	first := n.connectSilent("198.51.100.1", 1)[0]
	largestGroup := n.connectSilent("2a00:1:2:3::1", minPendingHelloLimit-1)
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

// If too many sessions are being evicted, the next ones are closed without a close
// frame.
func TestManyEvictionsSendNoCloseFrame(t *testing.T) {
	t.Parallel()
	n := startNode(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections = 100 })
	n.Server.mu.Lock()
	n.evictedCount = maxRejecting
	n.Server.mu.Unlock()
	withoutHello := n.connectSilent("198.51.100.1", minPendingHelloLimit)
	n.dialFrom("198.51.100.2").sendHelloExpectWelcome("ada").expectPong()
	if _, err := withoutHello[0].read(); err == nil || websocket.IsCloseError(err, protocol.CloseOverloaded) {
		t.Errorf("the evicted connection got: %v", err)
	}
	n.eventually("one session was evicted", func() bool {
		n.Server.mu.Lock()
		defer n.Server.mu.Unlock()
		return n.evictedCount == maxRejecting && len(n.sessions) == minPendingHelloLimit && n.pendingHello.count == minPendingHelloLimit-1
	})
	if n.closedCount("cut") != 1 {
		t.Errorf("closed: %v", n.labelValues("closes_total"))
	}
}

// A full node admits a player by evicting a session without a hello, of an address that
// has more of them.
func TestFullNodeEvictsPendingHello(t *testing.T) {
	t.Parallel()
	n := startNode(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections = reservedDivisor })
	playerA, playerB := n.startDuel("d")
	matchID := playerA.expectFrame(protocol.TypeMatchFound).Match
	playerB.expectFrame(protocol.TypeMatchFound)
	playerA.disconnect()
	n.eventually("the disconnected session has ended", func() bool { return len(n.openSessions()) == 1 })
	withoutHello := n.connectSilent("198.51.100.1", reservedDivisor-1)
	n.dialFrom("198.51.100.1").expectRetryLater()
	n.connectAndResume("d.a", &protocol.Resume{Match: matchID})
	withoutHello[0].expectRetryLater()
}

// evictionCandidate agrees with a plain search after any adds and removes.
func TestEvictionCandidateAgreesWithModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var pending pendingHellos
	var model []*session // in the order of arrival
	for range 500 {
		if len(model) > 0 && rng.IntN(5) < 2 {
			i := rng.IntN(len(model))
			pending.remove(model[i])
			pending.remove(model[i]) // the second call does nothing
			model = append(model[:i], model[i+1:]...)
		} else {
			se := &session{address: netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.IntN(rng.IntN(8) + 1))})}
			pending.add(se)
			model = append(model, se)
		}
		got, gotCount := pending.evictionCandidate()
		perAddress := map[overload.Key]int{}
		for _, se := range model {
			perAddress[se.addressKey()]++
		}
		var want *session
		for _, se := range model {
			if want == nil || perAddress[se.addressKey()] > perAddress[want.addressKey()] {
				want = se
			}
		}
		if want == nil && got == nil && gotCount == 0 && len(pending.byAddress) == 0 {
			continue
		}
		if got != want || gotCount != perAddress[want.addressKey()] || pending.countForAddress(want.addressKey()) != gotCount || pending.count != int64(len(model)) || len(pending.byAddress) != len(perAddress) {
			t.Fatalf("%d sessions: candidate %p with %d per address, want %p with %d", len(model), got, gotCount, want, perAddress[want.addressKey()])
		}
	}
}
