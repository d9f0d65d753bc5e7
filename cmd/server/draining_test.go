package main

import (
	"syscall"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// A node gets SIGTERM. It disconnects idle players, players who wait for an opponent and players
// in an arena's lobby immediately. They find their ticket and their arena at another node. Players of
// a duel move there later and finish. Then the node ends cleanly, long before its drain timeout.
func TestPlayersOfAStoppedNodeContinueAtAnotherNode(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, testenv.StartCluster(t, 3, 0).URL, slowDuels("demo", "queue"))
	leaving, staying := cluster.process(t), cluster.node(t)
	idle, waiting := newDuelClient(t, leaving.url, "demo"), newDuelClient(t, leaving.url, "queue")
	duel := startDuel(t, leaving.url, staying.url, "demo")
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	waiting.joinQueue(t)
	host, lobbyPlayer := openLobby(t, staying.url, leaving.url)

	leaving.signal(syscall.SIGTERM)
	for _, c := range []*matchClient{idle, waiting, lobbyPlayer, duel[0]} {
		c.readUntilPush(t, protocol.TypeDraining)
	}
	for _, c := range []*matchClient{idle, waiting, lobbyPlayer} {
		if code := readClose(t, c.Player); code != protocol.CloseDraining {
			t.Errorf("%s was closed with %d", c.id, code)
		}
	}
	duel[0].submitAndRead(t, true) // the stopping node still accepts answers
	duel[0].reconnect(t, staying.url)
	leftAt := time.Now()
	if code := leaving.wait(t); code != 0 {
		t.Errorf("the node ended with %d\n%s", code, leaving.log)
	}
	t.Logf("the node ended %s after its last player left", time.Since(leftAt))

	playToEnd(t, duel[:]...)
	checkSamePushes(t, duel[:]...)
	checkSettledOnce(t, staying.url, "demo", duel[0].over)
	queueDuel := duelPair{waiting.newClientAt(t, staying.url), newDuelClient(t, staying.url, "queue")}
	if f := queueDuel[0].request(t, protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"}); f.Type != protocol.TypeDuelQueued {
		if e := decodeError(t, f); e.Code != protocol.CodeAlreadyQueued { // the ticket has moved too
			t.Errorf("queueing elsewhere was answered with %s", f.Raw)
		}
	}
	queueDuel[1].joinQueue(t)
	queueDuel.waitForMatch(t)
	playToEnd(t, queueDuel[:]...)
	lobbyPlayer = lobbyPlayer.newClientAt(t, staying.url)
	if p := lobbyPlayer.Welcome.Playing; p == nil || p.ArenaID != host.joined.ArenaID {
		t.Errorf("a player in the lobby of an arena was welcomed with %+v", p)
	}
	host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: host.joined.ArenaID})
	playToEnd(t, lobbyPlayer)
}

// newClientAt returns a client of the same player with a new connection to the node of url.
func (c *matchClient) newClientAt(t *testing.T, url string) *matchClient {
	t.Helper()
	reconnected := newMatchClient(t, url, c.Guest)
	reconnected.key = c.key
	return reconnected
}
