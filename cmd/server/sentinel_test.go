package main

import (
	"os"
	"testing"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// The master of a Redis with Sentinel dies, and its replica takes over. A duel that runs continues
// at both nodes. The Sentinels have the configuration of deploy/compose.yaml.
func TestADuelContinuesAfterASentinelFailover(t *testing.T) {
	t.Parallel()
	config := testenv.Need(os.ReadFile("../../deploy/compose/sentinel.conf"))(t)
	master := testenv.Redis(t)
	replica := testenv.Replica(t, master)
	servers := newTestCluster(t, testenv.Sentinels(t, master, string(config), "laststand"), slowDuels("demo"))
	first, second := servers.node(t), servers.node(t)
	duel := startDuel(t, first.url, second.url, "demo")
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	acknowledged := duel[0].submitAndRead(t, true)
	if replicas := redisCommand(t, master, "WAIT", 1, 10_000); replicas != int64(1) {
		t.Fatalf("%v replicas have the answer", replicas)
	}

	master.Kill()
	waitUntil(t, "the replica takes over", func() bool { return redisCommand(t, replica, "ROLE").([]any)[0] == "master" })
	waitUntil(t, "an answer is accepted again", func() bool {
		id := duel[1].submit(t, true)
		return duel[1].readReplyTo(t, id).Type == protocol.TypeAnswered
	})
	closed := duel[0].readUntilPush(t, protocol.TypeQuestionClosed)
	var data protocol.QuestionClosed
	readData(t, closed, &data)
	for _, result := range data.Results {
		if result.Player == duel[0].id && (result.ElapsedMS == nil || *result.ElapsedMS != acknowledged.ElapsedMS) {
			t.Errorf("the close says %+v, %d ms were acknowledged", result, acknowledged.ElapsedMS)
		}
	}
	playToEnd(t, duel[:]...)
	checkSamePushes(t, duel[:]...)
	checkSettledOnce(t, first.url, "demo", duel[0].over)
}
