package ws

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/limit"
	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// Sessions that have asked for nothing for a minute go, the idlest first and some
// at a time; who is in a match stays.
func TestCloseIdle(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	b.expect(protocol.TypeMatchFound)
	idle, idler, busy := n.enter("idle"), n.enter("idler"), n.enter("busy")
	for i, name := range []string{"idle", "idler", "d.a", "d.b"} {
		n.session(name).asked.Add(-idleAfter.Milliseconds() - 1000*int64(i))
	}
	if closed := n.CloseIdle(); closed != 1 {
		t.Errorf("%d closed", closed)
	}
	idler.comesAgain()
	idle.alive() // a ping is no request
	if closed := n.CloseIdle(); closed != 1 {
		t.Errorf("%d closed", closed)
	}
	if _, reason := idle.closes(protocol.CloseOverloaded); reason == "" {
		t.Error("no reason")
	}
	if closed := n.CloseIdle(); closed != 0 {
		t.Errorf("%d closed", closed)
	}
	busy.alive()
}

// age has it that players asked for nothing for a while longer.
func (n *node) age(by time.Duration, players ...string) {
	n.Helper()
	for i, name := range players {
		n.session(name).asked.Add(-(by + time.Duration(i)*time.Second).Milliseconds())
	}
}

// Where places run short who does nothing goes, the idlest first; who waits for
// something after a while longer, and who is in a match never.
func TestShortPlaces(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	n := start(t, func(c *Config, _ *lobby.Duel) {
		c.Connections = 10
		c.Limits.Idle = limit.New(limit.Config{Registry: registry}).Cap("idle")
	})
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	b.expect(protocol.TypeMatchFound)
	idle, idler, busy := n.enter("idle"), n.enter("idler"), n.enter("busy")
	queued := newPlayer(n.enter("queued"), "queued")
	queued.join("nobody else's")
	watches := n.enter("watches")
	watches.ask(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"})
	watches.reply(protocol.TypeBoardOK)
	seated := n.enter("seated")
	n.gather("host").sit("seated")
	n.age(2*time.Minute, "idle", "idler", "queued", "watches", "seated", "d.a", "d.b")
	n.relieve()
	if closed := n.closed("1013"); closed != 0 {
		t.Fatalf("%v closed while there are places", closed)
	}
	n.enter("late")
	n.enter("later") // the last place
	for _, c := range []*client{idler, idle} {
		c.comesAgain()
	}
	n.eventually("their places are free", func() bool { return len(n.all()) == 8 })
	n.enter("p")
	n.enter("q")
	n.relieve()
	if closed := n.closed("1013"); closed != 2 {
		t.Fatalf("%v closed, of which none is idle enough", closed)
	}
	n.age(waitsAfter+2*time.Minute, "seated") // first, since relief goes on beside
	n.age(waitsAfter+time.Minute, "watches")
	n.age(waitsAfter, "queued", "d.a", "d.b")
	n.relieve()
	watches.closes(protocol.CloseOverloaded)
	seated.closes(protocol.CloseOverloaded)
	for _, c := range []*client{queued.client, busy} {
		c.alive()
	}
	n.session("d.a").Push("", protocol.EncodePush(protocol.TypeSettled, protocol.Settled{}))
	a.until(protocol.TypeSettled)
	if refused := refusals(t, registry, "refusals", "idle"); refused != 4 {
		t.Errorf("%v counted", refused)
	}
}

// On trial nobody goes.
func TestShortPlacesOnTrial(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	n := start(t, func(c *Config, _ *lobby.Duel) {
		c.Connections = 1
		c.Limits.Idle = limit.New(limit.Config{Registry: registry, Trial: func(string) bool { return true }}).Cap("idle")
	})
	idle := n.enter("idle")
	n.age(2*time.Minute, "idle")
	n.relieve()
	idle.alive()
	if got := refusals(t, registry, "dry_run_refusals", "idle"); got != 1 {
		t.Errorf("%v counted", got)
	}
}

// The fuller a node is the fewer places one address has, but for who is in a match.
func TestShare(t *testing.T) {
	t.Parallel()
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) { c.Connections, c.Limits.PerAddress = 20, 8 })
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound).Match
	b.expect(protocol.TypeMatchFound)
	n.enter("x")
	n.enter("y")
	for i := range 10 {
		n.dialFrom(fmt.Sprint("198.51.100.", i)).welcomed(fmt.Sprint("p", i))
	}
	late := n.dial() // the fifth of nowhere, where 6 of 20 places are left
	late.hello("late", nil)
	late.comesAgain()
	n.dialFrom("198.51.100.99").welcomed("else").alive()
	a.cut()
	n.eventually("they are gone", func() bool { return len(n.all()) == 14 })
	n.enter("z")
	n.resume("d.a", &protocol.Resume{Match: found})
	later := n.dial()
	later.hello("later", nil)
	later.comesAgain()
}

// The share by how many places are taken.
func TestShares(t *testing.T) {
	t.Parallel()
	s := New(Config{Connections: 1000, Limits: Limits{PerAddress: 200}})
	for open, want := range map[int64]int64{0: 200, 500: 200, 501: 199, 750: 100, 900: 40, 950: 20, 960: 16, 999: 10, 1000: 10, 1400: 10} {
		if got := s.share(open); got != want {
			t.Errorf("%d taken: %d, want %d", open, got, want)
		}
	}
	few := New(Config{Connections: 1, Limits: Limits{PerAddress: 3}})
	for open, want := range map[int64]int64{0: 3, 1: 1, 2: 1} {
		if got := few.share(open); got != want {
			t.Errorf("%d of one taken: %d, want %d", open, got, want)
		}
	}
}

// Where all connections are of one address that has its share, it is named.
func TestAlone(t *testing.T) {
	t.Parallel()
	named := make(chan netip.Addr, 9)
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) {
		c.Limits.PerAddress = 2
		c.Alone = func(from netip.Addr) { named <- from }
	})
	n.dialFrom("10.0.0.7").welcomed("ada")
	n.dialFrom("10.0.0.7").welcomed("bob")
	n.dialFrom("10.0.0.7").comesAgain()
	if from := <-named; from != netip.MustParseAddr("10.0.0.7") {
		t.Errorf("%v is named", from)
	}
	n.dialFrom("10.0.0.8").welcomed("eve")
	n.dialFrom("10.0.0.7").comesAgain()
	if len(named) > 0 {
		t.Error("named though others are there")
	}
}
