package main

import (
	"testing"
	"time"

	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// slowDuels is a configuration of duels whose questions wait for both players.
func slowDuels(games ...string) string {
	duels := map[string]config.Duel{}
	for _, name := range games {
		duels[name] = config.Duel{Questions: 4, TimeLimitMS: 60_000, CountdownMS: 50, RevealMS: 50}
	}
	return duelsConfig(duels)
}

// A second connection of a player at another node closes the first with 4409. It gets all
// pushes that the first did not get, with and without resume.
func TestANewerConnectionAtAnotherNodeReplacesASession(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), slowDuels("demo"))
	urls := []string{cluster.node(t).url, cluster.node(t).url}
	duel := startDuel(t, urls[0], urls[1], "demo")
	traveller, other := duel[0], duel[1]
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	previous := traveller.Player
	other.submitAndRead(t, true)
	traveller.resume(t, urls[1])
	checkReplaced(t, previous)
	traveller.submitAndRead(t, false)
	other.readUntilPush(t, protocol.TypeQuestionClosed)
	traveller.readUntilPush(t, protocol.TypeQuestionClosed)

	previous = traveller.Player
	reconnected := testenv.Need(player.Connect(t.Context(), urls[0], traveller.Guest, nil))(t)
	defer reconnected.Close()
	checkReplaced(t, previous)
	if p := reconnected.Welcome.Playing; p == nil || p.Match != traveller.match || p.Seq < traveller.seq {
		t.Fatalf("welcomed with %+v, want match %s and push number %d or higher", p, traveller.match, traveller.seq)
	}
	traveller.Player = reconnected
	if reconnected.Welcome.Playing.Seq == traveller.seq { // the next question has not opened yet
		traveller.readUntilPush(t, protocol.TypeQuestion)
	}
	if f := traveller.request(t, protocol.TypeMatchSync, protocol.Resume{Match: traveller.match, Seq: traveller.seq}); f.Type != protocol.TypeMatchState {
		t.Fatalf("sync was answered with %s", f.Raw)
	}
	playToEnd(t, traveller, other)
	checkSamePushes(t, traveller, other)
}

// checkReplaced waits for the end of a connection that a newer one replaced. The other node
// notifies its node, which closes it before the next ping.
func checkReplaced(t *testing.T, p *player.Player) {
	t.Helper()
	start := time.Now()
	if code := readClose(t, p); code != protocol.CloseReplaced || time.Since(start) > pingInterval/2 {
		t.Errorf("a replaced connection was closed with %d after %s", code, time.Since(start))
	}
}
