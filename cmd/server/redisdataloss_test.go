package main

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Redis dies and comes back with old data. A match that continued after that data is abandoned.
// A match that ended and is in the ledger stays unchanged there. Both let their players play
// again.
func TestMatchesAreAbandonedWhenRedisReturnsWithOldData(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	h := newTestCluster(t, server.URL, slowDuels("demo", "ended"))
	first, second := h.node(t), h.node(t)
	lost := pairUp(t, newDuelClient(t, first.url, "demo"), newDuelClient(t, second.url, "demo")).waitForMatch(t)
	ended := pairUp(t, newDuelClient(t, first.url, "ended"), newDuelClient(t, second.url, "ended")).waitForMatch(t)
	for _, d := range []duelPair{lost, ended} {
		d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	}
	redisCommand(t, server, "SAVE") // Redis restarts with this data only
	lost.playAgain(t)
	ended.each(func(c *matchClient) { c.waitForSettled = true })
	playToEnd(t, ended[:]...)
	checkSettledOnce(t, first.url, "ended", ended[0].over)

	server.Kill()
	server.Restart()
	lost.abandoned(t, first, second)
	for game, d := range map[string]duelPair{"demo": lost, "ended": ended} {
		before := getProfile(t, first.url, game, d[0].id).Matches
		again := pairUp(t, d[0].withoutMatch(), d[1].withoutMatch()).waitForMatch(t)
		playToEnd(t, again[:]...)
		checkSamePushes(t, again[:]...)
		waitUntil(t, "the next match is in the ledger", func() bool { return getProfile(t, first.url, game, d[0].id).Matches == before+1 })
	}
}

// A master of a cluster dies after the replication to its replica stopped. Matches that the replica does
// not have are abandoned. The matches of other masters continue, and all players may play
// again.
func TestMatchesThatAPromotedReplicaLacksAreAbandoned(t *testing.T) {
	t.Parallel()
	cluster := testenv.StartCluster(t, 3, 1)
	master, replica := cluster.Masters[0], cluster.Replicas[0]
	h := newTestCluster(t, cluster.URL, slowDuels("demo"))
	first, second := h.node(t), h.node(t)
	var lost, kept []duelPair
	for len(lost) == 0 || len(kept) == 0 || len(lost)+len(kept) < 6 {
		d := pairUp(t, newDuelClient(t, first.url, "demo"), newDuelClient(t, second.url, "demo")).waitForMatch(t)
		d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
		if keys := redisCommand(t, master, "KEYS", "m:*:"+d[0].match); len(keys.([]any)) > 0 {
			lost = append(lost, d)
		} else {
			kept = append(kept, d)
		}
	}
	stopFollowing(t, replica, master)
	for _, d := range append(append([]duelPair(nil), lost...), kept...) {
		d.playAgain(t)
	}
	master.Kill()
	for _, d := range lost {
		d.abandoned(t, first, second)
	}
	for _, d := range kept {
		playToEnd(t, d[:]...)
		checkSamePushes(t, d[:]...)
		checkSettledOnce(t, first.url, "demo", d[0].over)
	}
	for _, d := range lost {
		again := pairUp(t, d[0].withoutMatch(), d[1].withoutMatch()).waitForMatch(t)
		playToEnd(t, again[:]...)
		checkSamePushes(t, again[:]...)
		checkSettledOnce(t, first.url, "demo", again[0].over)
	}
}

// stopReplication makes a master refuse its replica permanently.
func stopFollowing(t *testing.T, replica, master *testenv.Server) {
	t.Helper()
	redisCommand(t, master, "WAIT", 1, 10_000)
	redisCommand(t, replica, "CONFIG", "SET", "masteruser", "nobody", "masterauth", "nothing")
	redisCommand(t, master, "CLIENT", "KILL", "TYPE", "replica")
}

// redisCommand sends a command to a Redis server and returns the reply.
func redisCommand(t *testing.T, s *testenv.Server, args ...any) any {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	got, err := c.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return got
}

// advanceOneQuestion advances a duel by one question, and to one answer of the next question.
func (d duelPair) playAgain(t *testing.T) {
	t.Helper()
	d.each(func(c *matchClient) { c.submitAndRead(t, true) })
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionClosed) })
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	d[0].submitAndRead(t, true)
	d[1].readUntilPush(t, protocol.TypeAnswerSeen)
}

// checkAbandoned waits until the match of a duel ends as abandoned at both nodes. The match must be
// counted and not settled.
func (d duelPair) abandoned(t *testing.T, nodes ...*testNode) {
	t.Helper()
	d.each(func(c *matchClient) { c.waitForAbandoned(t) })
	checkSamePushes(t, d[:]...)
	checkUnsettled(t, nodes[0].url, d[0].Welcome.Game, d[:]...)
	counted := 0
	for _, n := range nodes {
		counted += sumMetric(t, n.opsURL, "laststand_match_ends_total", `reason="abandoned"`)
	}
	if counted == 0 {
		t.Error("no abandoned match is counted")
	}
}
