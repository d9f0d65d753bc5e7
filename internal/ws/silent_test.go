package ws

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/limit"
	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// unheard is how many sessions have said no hello yet. A client is told that it is
// connected before it is counted.
func (n *node) unheard() int64 {
	n.Server.mu.Lock()
	defer n.Server.mu.Unlock()
	return n.silents.count
}

// mute connects so many that say nothing, one after the other.
func (n *node) mute(address string, many int) []*client {
	n.Helper()
	clients := make([]*client, many)
	for i := range clients {
		before := n.unheard()
		clients[i] = n.dialFrom(address)
		n.eventually("it is counted", func() bool { return n.unheard() > before })
	}
	return clients
}

// Those that say nothing are so many and no more: beyond that the oldest of the
// address that has most gives way, so that everybody else can say hello.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) {
		c.Connections = 100
		c.Limits.Silent = limit.New(limit.Config{Registry: registry}).Cap("silent")
	})
	first := n.mute("198.51.100.1", 1)[0]
	many := n.mute("2a00:1:2:3::1", mostSilent-1)
	n.dialFrom("198.51.100.2").welcomed("cat").alive()
	many[0].comesAgain()
	first.welcomed("ada").alive()
	many[1].welcomed("bob").alive() // it had only been slow
	room := n.mute("2a00:1:2:3:4::1", 3)
	n.dialFrom("2a00:1:2:3::5") // the same network gets in, at its own expense
	many[2].comesAgain()
	room[0].welcomed("eve").alive()
	if refused := refusals(t, registry, "refusals", "silent"); refused != 2 || n.closed("1013") != 2 {
		t.Errorf("%v counted, %v closed", refused, n.closed("1013"))
	}
}

// Where too many give way at once the next are cut off without a word.
func TestSilentConnectionsAreCut(t *testing.T) {
	t.Parallel()
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) { c.Connections = 100 })
	n.Server.mu.Lock()
	n.parting = awayAtOnce
	n.Server.mu.Unlock()
	many := n.mute("198.51.100.1", mostSilent)
	n.dialFrom("198.51.100.2").welcomed("ada").alive()
	if _, err := many[0].read(); err == nil || websocket.IsCloseError(err, protocol.CloseOverloaded) {
		t.Errorf("it was told: %v", err)
	}
	n.eventually("it is gone, and nobody else", func() bool {
		n.Server.mu.Lock()
		defer n.Server.mu.Unlock()
		return n.parting == awayAtOnce && len(n.sessions) == mostSilent && n.silents.count == mostSilent-1
	})
	if n.closed("cut") != 1 {
		t.Errorf("closed: %v", n.labels("closes_total"))
	}
}

// A node that is full lets a player in for a silent connection of somebody who has
// more of them.
func TestFullOfSilence(t *testing.T) {
	t.Parallel()
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) { c.Connections = reserve })
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound).Match
	b.expect(protocol.TypeMatchFound)
	a.cut()
	n.eventually("it is gone", func() bool { return len(n.all()) == 1 })
	many := n.mute("198.51.100.1", reserve-1)
	n.dialFrom("198.51.100.1").comesAgain()
	n.resume("d.a", &protocol.Resume{Match: found})
	many[0].comesAgain()
}

// The session that gives way is that of a plain search, whatever came and went.
func TestSilents(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var s silents
	var all []*session // in the order in which they came
	for range 500 {
		if len(all) > 0 && rng.IntN(5) < 2 {
			i := rng.IntN(len(all))
			s.remove(all[i])
			s.remove(all[i]) // the second is for nothing
			all = append(all[:i], all[i+1:]...)
		} else {
			se := &session{address: netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.IntN(rng.IntN(8) + 1))})}
			s.add(se)
			all = append(all, se)
		}
		got, most := s.largest()
		each := map[limit.Key]int{}
		for _, se := range all {
			each[se.from()]++
		}
		var want *session
		for _, se := range all {
			if want == nil || each[se.from()] > each[want.from()] {
				want = se
			}
		}
		if want == nil && got == nil && most == 0 && len(s.lines) == 0 {
			continue
		}
		if got != want || most != each[want.from()] || s.of(want.from()) != most || s.count != int64(len(all)) || len(s.lines) != len(each) {
			t.Fatalf("%d: %p with %d gives way, want %p with %d", len(all), got, most, want, each[want.from()])
		}
	}
}
