package main

import (
	"bytes"
	"syscall"
	"testing"

	"laststand/internal/protocol"
)

// A node is suspended for longer than a question takes, and continues. While it is suspended,
// another node advances its matches. Its late steps fail, and its players get all that they
// missed. Together the nodes take every step of a match once.
func TestAnotherNodeAdvancesMatchesOfASuspendedNode(t *testing.T) {
	t.Parallel()
	const rounds, pairs = 4, 2
	h := newTestCluster(t, listedRedis(t), duelsConfig(map[string]duelConfig{
		"demo": {Questions: rounds, TimeLimitMS: 1500, CountdownMS: 500, RevealMS: 300},
	}))
	stopped, other := h.process(t), h.node(t)
	var all []*matchClient
	var duels []duelPair
	for range pairs {
		d := pairUp(t, newDuelClient(t, stopped.url, "demo"), newDuelClient(t, other.url, "demo"))
		duels, all = append(duels, d), append(all, d[:]...)
	}
	for _, d := range duels {
		d.waitForMatch(t).each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	}
	stopped.signal(syscall.SIGSTOP)
	for _, d := range duels {
		for range 2 { // no player answers at that node
			d[1].readUntilPush(t, protocol.TypeQuestionClosed)
			d[1].readUntilPush(t, protocol.TypeQuestion)
		}
	}
	stopped.signal(syscall.SIGCONT)
	playToEnd(t, all...)
	extended := 0
	for _, d := range duels {
		checkSamePushes(t, d[:]...)
		checkSettledOnce(t, other.url, "demo", d[0].over)
		extended += bytes.Count(d[0].numberedPushes.Bytes(), []byte(`"type":"question.extended"`))
	}
	taken := func(phase string) int {
		labels := []string{`phase="` + phase + `"`, `outcome="taken"`}
		return sumMetric(t, stopped.opsURL, "laststand_match_steps_total", labels...) + sumMetric(t, other.opsURL, "laststand_match_steps_total", labels...)
	}
	for phase, want := range map[string]int{"open": pairs*rounds + extended, "sealed": pairs * rounds, "revealed": pairs * rounds, "over": pairs} {
		if n := taken(phase); n != want {
			t.Errorf("%d steps to %s were taken, want %d", n, phase, want)
		}
	}
	t.Logf("the stopped node lost %d steps", sumMetric(t, stopped.opsURL, "laststand_match_steps_total", `outcome="lost"`))
}
