package main

import (
	"syscall"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// A node is told to leave. Its idle players, who waits for an opponent and who
// sits in an arena's lobby are sent away at once and find everything at another
// node; the players of a duel go there at their leisure and finish. Then the
// node ends in order, long before it would lose patience.
func TestANodeLeavesAndItsPlayersGoOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, testenv.ClusterOf(t, 3, 0).URL, unhurried("demo", "queue"))
	leaving, staying := h.process(t), h.node(t)
	idle, waiting := stranger(t, leaving.url, "demo"), stranger(t, leaving.url, "queue")
	d := meet(t, stranger(t, leaving.url, "demo"), stranger(t, staying.url, "demo")).begun(t)
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
	waiting.queue(t)
	host, sitting := openLobby(t, staying.url, leaving.url)

	leaving.signal(syscall.SIGTERM)
	for _, c := range []*contestant{idle, waiting, sitting, d[0]} {
		c.until(t, protocol.TypeDraining)
	}
	for _, c := range []*contestant{idle, waiting, sitting} {
		if code := closed(t, c.Player); code != protocol.CloseDraining {
			t.Errorf("%s was closed with %d", c.id, code)
		}
	}
	d[0].reply(t, true) // the node still plays
	d[0].comeBack(t, staying.url)
	left := time.Now()
	if code := leaving.wait(t); code != 0 {
		t.Errorf("the node ended with %d\n%s", code, leaving.log)
	}
	t.Logf("the node ended %s after its last player left", time.Since(left))

	playOn(t, d[:]...)
	sameFeed(t, d[:]...)
	settledOnce(t, staying.url, "demo", d[0].over)
	late := duelling{waiting.elsewhere(t, staying.url), stranger(t, staying.url, "queue")}
	if f := late[0].request(t, protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); f.Type != protocol.TypeDuelQueued {
		if e := failure(t, f); e.Code != protocol.CodeAlreadyQueued { // the ticket has come along
			t.Errorf("queueing elsewhere was answered with %s", f.Raw)
		}
	}
	late[1].queue(t)
	late.begun(t)
	playOn(t, late[:]...)
	sitting = sitting.elsewhere(t, staying.url)
	if p := sitting.Welcome.Playing; p == nil || p.ArenaID != host.joined.ArenaID {
		t.Errorf("in an arena's lobby, and welcomed with %+v", p)
	}
	host.must(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: host.joined.ArenaID})
	playOn(t, sitting)
}

// elsewhere is the same player, connected anew.
func (c *contestant) elsewhere(t *testing.T, url string) *contestant {
	t.Helper()
	anew := attend(t, url, c.Guest)
	anew.solve = c.solve
	return anew
}
