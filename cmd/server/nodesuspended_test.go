package main

import (
	"bytes"
	"syscall"
	"testing"

	"laststand/internal/config"
	"laststand/internal/protocol"
)

// A node is suspended for longer than a question takes, and continues. While it is suspended,
// another node advances its matches. Its late steps fail, and its players get all that they
// missed. Together the nodes take every step of a match once.
func TestAnotherNodeAdvancesMatchesOfASuspendedNode(t *testing.T) {
	t.Parallel()
	const rounds, pairs = 4, 2
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), duelsConfig(map[string]config.Duel{
		"demo": {Questions: rounds, TimeLimitMS: 1500, CountdownMS: 500, RevealMS: 300},
	}))
	suspended, other := cluster.process(t), cluster.node(t)
	var clients []*matchClient
	var duels []duelPair
	for range pairs {
		duel := pairUp(t, newDuelClient(t, suspended.url, "demo"), newDuelClient(t, other.url, "demo"))
		duels, clients = append(duels, duel), append(clients, duel[:]...)
	}
	for _, duel := range duels {
		duel.waitForMatch(t).each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	}
	suspended.signal(syscall.SIGSTOP)
	for _, duel := range duels {
		for range 2 { // no player answers at that node
			duel[1].readUntilPush(t, protocol.TypeQuestionClosed)
			duel[1].readUntilPush(t, protocol.TypeQuestion)
		}
	}
	suspended.signal(syscall.SIGCONT)
	playToEnd(t, clients...)
	extensions := 0
	for _, duel := range duels {
		checkSamePushes(t, duel[:]...)
		checkSettledOnce(t, other.url, "demo", duel[0].over)
		extensions += bytes.Count(duel[0].numberedPushes.Bytes(), []byte(`"type":"question.extended"`))
	}
	countSteps := func(phase string) int {
		labels := []string{`phase="` + phase + `"`, `outcome="taken"`}
		return sumMetric(t, suspended.opsURL, "laststand_match_steps_total", labels...) + sumMetric(t, other.opsURL, "laststand_match_steps_total", labels...)
	}
	for phase, want := range map[string]int{"open": pairs*rounds + extensions, "revealed": pairs * rounds, "over": pairs} {
		if got := countSteps(phase); got != want {
			t.Errorf("%d steps to %s were taken, want %d", got, phase, want)
		}
	}
	t.Logf("the stopped node lost %d steps", sumMetric(t, suspended.opsURL, "laststand_match_steps_total", `outcome="lost"`))
}
