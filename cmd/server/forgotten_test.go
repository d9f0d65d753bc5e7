package main

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Redis dies and comes back with data of some time ago. A match that went on
// meanwhile is abandoned; one that ended and is in the ledger stays as it is
// there, and neither keeps its players from the next.
func TestRedisComesBackWithOldData(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	h := newHouse(t, server.URL, unhurried("demo", "ended"))
	here, there := h.node(t), h.node(t)
	lost := meet(t, stranger(t, here.url, "demo"), stranger(t, there.url, "demo")).begun(t)
	ended := meet(t, stranger(t, here.url, "ended"), stranger(t, there.url, "ended")).begun(t)
	for _, d := range []duelling{lost, ended} {
		d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
	}
	tell(t, server, "SAVE") // it starts with that, and else with nothing
	lost.goOn(t)
	ended.each(func(c *contestant) { c.wait = true })
	playOn(t, ended[:]...)
	settledOnce(t, here.url, "ended", ended[0].over)

	server.Kill()
	server.Restart()
	lost.abandoned(t, here, there)
	for game, d := range map[string]duelling{"demo": lost, "ended": ended} {
		before := profileOf(t, here.url, game, d[0].id).Matches
		again := meet(t, d[0].again(), d[1].again()).begun(t)
		playOn(t, again[:]...)
		sameFeed(t, again[:]...)
		eventually(t, "the next match is in the ledger", func() bool { return profileOf(t, here.url, game, d[0].id).Matches == before+1 })
	}
}

// A master of a cluster dies whose replica had stopped following. What the
// replica has not heard of is abandoned; the matches of other masters are not,
// and everybody may play again.
func TestAReplicaIsPromotedThatWasBehind(t *testing.T) {
	t.Parallel()
	cluster := testenv.ClusterOf(t, 3, 1)
	master, replica := cluster.Masters[0], cluster.Replicas[0]
	h := newHouse(t, cluster.URL, unhurried("demo"))
	here, there := h.node(t), h.node(t)
	var lost, kept []duelling
	for len(lost) == 0 || len(kept) == 0 || len(lost)+len(kept) < 6 {
		d := meet(t, stranger(t, here.url, "demo"), stranger(t, there.url, "demo")).begun(t)
		d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
		if keys := tell(t, master, "KEYS", "m:*:"+d[0].match); len(keys.([]any)) > 0 {
			lost = append(lost, d)
		} else {
			kept = append(kept, d)
		}
	}
	stopFollowing(t, replica, master)
	for _, d := range append(append([]duelling(nil), lost...), kept...) {
		d.goOn(t)
	}
	master.Kill()
	for _, d := range lost {
		d.abandoned(t, here, there)
	}
	for _, d := range kept {
		playOn(t, d[:]...)
		sameFeed(t, d[:]...)
		settledOnce(t, here.url, "demo", d[0].over)
	}
	for _, d := range lost {
		again := meet(t, d[0].again(), d[1].again()).begun(t)
		playOn(t, again[:]...)
		sameFeed(t, again[:]...)
		settledOnce(t, here.url, "demo", again[0].over)
	}
}

// stopFollowing has a replica that follows its master be refused by it from now
// on.
func stopFollowing(t *testing.T, replica, master *testenv.Server) {
	t.Helper()
	tell(t, master, "WAIT", 1, 10_000)
	tell(t, replica, "CONFIG", "SET", "masteruser", "nobody", "masterauth", "nothing")
	tell(t, master, "CLIENT", "KILL", "TYPE", "replica")
}

// tell has a Redis server do something.
func tell(t *testing.T, s *testenv.Server, args ...any) any {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	got, err := c.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return got
}

// goOn takes a duel one question further, and half of one.
func (d duelling) goOn(t *testing.T) {
	t.Helper()
	d.each(func(c *contestant) { c.reply(t, true) })
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestionClosed) })
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
	d[0].reply(t, true)
	d[1].until(t, protocol.TypeAnswerSeen)
}

// abandoned waits until the match of a duel ends as such at both nodes, counted
// and not settled.
func (d duelling) abandoned(t *testing.T, nodes ...*running) {
	t.Helper()
	d.each(func(c *contestant) { c.abandoned(t) })
	sameFeed(t, d[:]...)
	unsettled(t, nodes[0].url, d[0].Welcome.Game, d[:]...)
	counted := 0
	for _, n := range nodes {
		counted += metric(t, n.ops, "laststand_match_ends_total", `reason="abandoned"`)
	}
	if counted == 0 {
		t.Error("no abandoned match is counted")
	}
}
