package main

import (
	"strings"
	"testing"
	"time"

	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/stress"
)

// Slots move, a shard is added and a master dies while duels and arenas are played. Players lose
// nothing, and nothing stored is wrong.
func TestTheRedisClusterChangesUnderPlay(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartCluster(t, 3, 3)
	report, err := (&stress.Chaos{
		ClusterConfig: clusterOfTest(t, nodes.URL, testenv.Postgres(t).URL), Nodes: 2,
		Players: 40, Arenas: 6, For: 30 * time.Second, Seed: uint64(time.Now().UnixNano()),
		RedisChanges: stress.RedisChanges{SlotMoves: 2, NewShards: 1, Failovers: 1, RedisCluster: nodes},
	}).Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if len(report.Failures) > 0 {
		logs, err := report.KeepLogs()
		t.Errorf("%d failures; the logs of the nodes are in %s (%v)", len(report.Failures), logs, err)
	}
}

// The slot of a duel moves for longer than a question lasts. The server asks players to retry, and
// gives the lost time back.
func TestAQuestionGetsItsTimeBackAfterItsSlotMoved(t *testing.T) {
	t.Parallel()
	cluster := testenv.StartCluster(t, 3, 0)
	servers := newTestCluster(t, cluster.URL, duelsConfig(map[string]config.Duel{"demo": {Questions: 2, TimeLimitMS: 3000, CountdownMS: 50, RevealMS: 50}}))
	first, second := servers.node(t), servers.node(t)
	duel := startDuel(t, first.url, second.url, "demo")
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	finishMove := startMove(t, cluster, duel[0].match)
	id := duel[0].submit(t, true)
	if refused := decodeError(t, duel[0].readReplyTo(t, id)); refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS <= 0 {
		t.Errorf("an answer to a match of a moving slot gets %+v", refused)
	}
	time.Sleep(4 * time.Second)
	finishMove()
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionExtended) })
	playToEnd(t, duel[:]...)
	checkSamePushes(t, duel[:]...)
	checkSettledOnce(t, first.url, "demo", duel[0].over)
}

// startMove starts to move the slot of a match to another master, and moves one key of it. The
// returned function moves the rest.
func startMove(t *testing.T, cluster *testenv.ClusterNodes, match string) (finish func()) {
	t.Helper()
	for i, source := range cluster.Masters {
		keys := redisCommand(t, source, "KEYS", "m:*:"+match).([]any)
		if len(keys) == 0 {
			continue
		}
		target := cluster.Masters[(i+1)%len(cluster.Masters)]
		slot := redisCommand(t, source, "CLUSTER", "KEYSLOT", keys[0])
		targetID := redisCommand(t, target, "CLUSTER", "MYID")
		redisCommand(t, target, "CLUSTER", "SETSLOT", slot, "IMPORTING", redisCommand(t, source, "CLUSTER", "MYID"))
		redisCommand(t, source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)
		host, port, _ := strings.Cut(target.Addr, ":")
		moveKey := func(key any) { redisCommand(t, source, "MIGRATE", host, port, key, 0, 5000) }
		moveKey(keys[0])
		return func() {
			for _, key := range redisCommand(t, source, "CLUSTER", "GETKEYSINSLOT", slot, 1000).([]any) {
				moveKey(key)
			}
			for _, server := range []*testenv.Server{target, source} {
				redisCommand(t, server, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
			}
		}
	}
	t.Fatalf("no master has the match %s", match)
	return nil
}
