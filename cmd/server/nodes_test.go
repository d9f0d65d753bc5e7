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

// Tickets from two nodes are paired, in any order of arrival. The players at both nodes get the
// same pushes to the end.
func TestTicketsOfTwoNodesArePaired(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, testenv.StartCluster(t, 3, 0).URL, slowDuels("demo"))
	first, second := cluster.node(t), cluster.node(t)
	var clients []*matchClient
	var duels []duelPair
	for range 2 {
		for _, urls := range [][2]string{{first.url, second.url}, {second.url, first.url}} {
			duel := pairUp(t, newDuelClient(t, urls[0], "demo"), newDuelClient(t, urls[1], "demo")).waitForMatch(t)
			duel.each(func(c *matchClient) { c.waitForSettled = true })
			duels, clients = append(duels, duel), append(clients, duel[:]...)
		}
	}
	playToEnd(t, clients...)
	for _, duel := range duels {
		checkSamePushes(t, duel[:]...)
		checkSettledOnce(t, first.url, "demo", duel[0].over)
	}
}

// A player is disconnected many times, before and after an answer, and always reconnects at the
// other node. The player misses nothing and gets nothing twice, and accepted answers remain.
func TestAPlayerReconnectsAtAnotherNode(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), slowDuels("demo"))
	urls := []string{cluster.node(t).url, cluster.node(t).url}
	duel := pairUp(t, newDuelClient(t, urls[0], "demo"), newDuelClient(t, urls[1], "demo")).waitForMatch(t)
	traveller, other := duel[0], duel[1]
	for q := range 4 {
		traveller.readUntilPush(t, protocol.TypeQuestion)
		other.readUntilPush(t, protocol.TypeQuestion)
		state := traveller.reconnect(t, urls[(q+1)%2])
		if state.Phase != "open" || state.Question == nil || state.Question.Question != q || state.YourAnswer != nil {
			t.Errorf("before the answer to question %d: %+v", q, state)
		}
		answered := traveller.submitAndRead(t, q%2 == 0)
		state = traveller.reconnect(t, urls[q%2])
		if state.YourAnswer == nil || state.YourAnswer.ElapsedMS != answered.ElapsedMS {
			t.Errorf("after the answer to question %d: %+v", q, state.YourAnswer)
		}
		_ = traveller.Close()
		other.submitAndRead(t, true)
		other.readUntilPush(t, protocol.TypeQuestionClosed)
		traveller.reconnect(t, urls[(q+1)%2])
		traveller.readUntilPush(t, protocol.TypeQuestionClosed)
	}
	playToEnd(t, traveller, other)
	checkSamePushes(t, traveller, other)
	checkSettledOnce(t, urls[0], "demo", traveller.over)
}

// A second connection of a player at another node closes the first with 4409. It gets all
// pushes that the first did not get, with and without resume.
func TestANewerConnectionAtAnotherNodeReplacesASession(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), slowDuels("demo"))
	urls := []string{cluster.node(t).url, cluster.node(t).url}
	duel := pairUp(t, newDuelClient(t, urls[0], "demo"), newDuelClient(t, urls[1], "demo")).waitForMatch(t)
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
	reconnected, err := player.Connect(t.Context(), urls[0], traveller.Guest, nil)
	if err != nil {
		t.Fatal(err)
	}
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
