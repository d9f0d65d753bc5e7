package main

import (
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Redis dies and comes back with old data. A match that continued after that data is abandoned.
// A match that ended and is in the ledger stays unchanged there. Both let their players play
// again.
func TestMatchesAreAbandonedWhenRedisReturnsWithOldData(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	cluster := newTestCluster(t, server.URL, slowDuels("demo", "ended"))
	first, second := cluster.node(t), cluster.node(t)
	lost := startDuel(t, first.url, second.url, "demo")
	ended := startDuel(t, first.url, second.url, "ended")
	for _, duel := range []duelPair{lost, ended} {
		duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	}
	redisCommand(t, server, "SAVE") // Redis restarts with this data only
	lost.advanceOneQuestion(t)
	ended.each(func(c *matchClient) { c.waitForSettled = true })
	playToEnd(t, ended[:]...)
	checkSettledOnce(t, first.url, "ended", ended[0].over)

	server.Kill()
	server.Restart()
	lost.checkAbandoned(t, first, second)
	for game, duel := range map[string]duelPair{"demo": lost, "ended": ended} {
		before := getProfile(t, first.url, game, duel[0].id).Matches
		rematch := pairUp(t, duel[0].withoutMatch(), duel[1].withoutMatch()).waitForMatch(t)
		playToEnd(t, rematch[:]...)
		checkSamePushes(t, rematch[:]...)
		waitUntil(t, "the next match is in the ledger", func() bool { return getProfile(t, first.url, game, duel[0].id).Matches == before+1 })
	}
}

// A master of a cluster dies after the replication to its replica stopped. Matches that the replica does
// not have are abandoned. The matches of other masters continue, and all players may play
// again.
func TestMatchesThatAPromotedReplicaLacksAreAbandoned(t *testing.T) {
	t.Parallel()
	cluster := testenv.StartCluster(t, 3, 1)
	master, replica := cluster.Masters[0], cluster.Replicas[0]
	servers := newTestCluster(t, cluster.URL, slowDuels("demo"))
	first, second := servers.node(t), servers.node(t)
	var lost, remaining []duelPair
	for len(lost) == 0 || len(remaining) == 0 || len(lost)+len(remaining) < 6 {
		duel := startDuel(t, first.url, second.url, "demo")
		duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
		if keys := redisCommand(t, master, "KEYS", "m:*:"+duel[0].match); len(keys.([]any)) > 0 {
			lost = append(lost, duel)
		} else {
			remaining = append(remaining, duel)
		}
	}
	stopReplication(t, replica, master)
	for _, duel := range append(append([]duelPair(nil), lost...), remaining...) {
		duel.advanceOneQuestion(t)
	}
	master.Kill()
	for _, duel := range lost {
		duel.checkAbandoned(t, first, second)
	}
	for _, duel := range remaining {
		playToEnd(t, duel[:]...)
		checkSamePushes(t, duel[:]...)
		checkSettledOnce(t, first.url, "demo", duel[0].over)
	}
	for _, duel := range lost {
		rematch := pairUp(t, duel[0].withoutMatch(), duel[1].withoutMatch()).waitForMatch(t)
		playToEnd(t, rematch[:]...)
		checkSamePushes(t, rematch[:]...)
		checkSettledOnce(t, first.url, "demo", rematch[0].over)
	}
}

// stopReplication makes a master refuse its replica permanently.
func stopReplication(t *testing.T, replica, master *testenv.Server) {
	t.Helper()
	redisCommand(t, master, "WAIT", 1, 10_000)
	redisCommand(t, replica, "CONFIG", "SET", "masteruser", "nobody", "masterauth", "nothing")
	redisCommand(t, master, "CLIENT", "KILL", "TYPE", "replica")
}

// redisCommand sends a command to a Redis server and returns the reply.
func redisCommand(t *testing.T, s *testenv.Server, args ...any) any {
	t.Helper()
	reply, err := redisClient(t, "redis://"+s.Addr).Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// advanceOneQuestion advances a duel by one question, and to one answer of the next question.
func (d duelPair) advanceOneQuestion(t *testing.T) {
	t.Helper()
	d.each(func(c *matchClient) { c.submitAndRead(t, true) })
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionClosed) })
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	d[0].submitAndRead(t, true)
	d[1].readUntilPush(t, protocol.TypeAnswerSeen)
}

// checkAbandoned waits until the match of a duel ends as abandoned at both nodes. The match must be
// counted and not settled.
func (d duelPair) checkAbandoned(t *testing.T, nodes ...*testNode) {
	t.Helper()
	d.each(func(c *matchClient) { c.waitForAbandoned(t) })
	checkSamePushes(t, d[:]...)
	checkUnsettled(t, nodes[0].url, d[0].Welcome.Game, d[:]...)
	counted := 0
	for _, node := range nodes {
		counted += sumMetric(t, node.opsURL, "laststand_match_ends_total", `reason="abandoned"`)
	}
	if counted == 0 {
		t.Error("no abandoned match is counted")
	}
}
