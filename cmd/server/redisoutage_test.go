package main

import (
	"net/http"
	"testing"
	"time"

	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// outageDuels has questions that are shorter than the outage of Redis.
var outageDuels = config.Duel{Questions: 3, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 500}

// Redis stalls for 5 s, during an open question without an answer, or before a question opens.
// The server asks players to retry. Then they still have time to answer, and the time of an
// answer counts as at most the limit.
func TestQuestionsAreExtendedByRedisStalls(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"open", "reveal"} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			server := testenv.Redis(t)
			cluster := newTestCluster(t, server.URL, duelsConfig(map[string]config.Duel{"demo": outageDuels}))
			first, second := cluster.node(t), cluster.node(t)
			rules := &checker.Checker{LimitMS: outageDuels.TimeLimitMS} // an answer counts as at most the limit
			clients := []*matchClient{newDuelClient(t, first.url, "demo"), newDuelClient(t, second.url, "demo")}
			follow(rules, clients)
			duel := pairUp(t, clients[0], clients[1]).waitForMatch(t)
			duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
			if phase == "reveal" {
				duel.each(func(c *matchClient) { c.submitAndRead(t, true) })
				duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionClosed) })
			}
			stallRedis(t, server, first, duel)
			duel.each(func(c *matchClient) { c.waitForTimeToAnswer(t, phase) })
			duel.each(func(c *matchClient) { c.submitAndRead(t, true) })
			playToEnd(t, duel[:]...)
			checkSamePushes(t, duel[:]...)
			judge(t, rules)
			checkSettledOnce(t, first.url, "demo", duel[0].over)
		})
	}
}

// stallRedis suspends Redis for 5 s, during which requests of players fail and the node is not ready.
func stallRedis(t *testing.T, server *testenv.Server, node *testNode, duel duelPair) {
	t.Helper()
	server.Pause()
	stallEnd := time.After(5 * time.Second)
	var requestIDs [2]int64
	for i, c := range duel {
		requestIDs[i], _ = c.Send(protocol.TypeMatchSync, protocol.Resume{Match: c.match, Seq: c.seq})
	}
	for i, c := range duel {
		refused := decodeError(t, c.readReplyTo(t, requestIDs[i]))
		if refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS <= 0 {
			t.Errorf("while Redis stalls a request gets %+v", refused)
		}
		delete(c.refused, 0)
	}
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/healthz": http.StatusOK} {
		if status := get(t, node.url+path, nil); status != want {
			t.Errorf("while Redis stalls %s returns %d", path, status)
		}
	}
	<-stallEnd
	server.Resume()
}

// waitForTimeToAnswer waits until there is time to answer. A question that was open is extended. A
// question that opens late has at least its whole time.
func (c *matchClient) waitForTimeToAnswer(t *testing.T, phase string) {
	t.Helper()
	f := c.readUntil(t, "time to answer", func(f checker.Frame) bool {
		if f.Type == protocol.TypeQuestion && phase == "reveal" {
			return c.asked[len(c.asked)-1].ClosesAt > f.ReceivedAt.UnixMilli()
		}
		return f.Type == protocol.TypeQuestionExtended
	})
	if f.Type != protocol.TypeQuestionExtended {
		return
	}
	var extension protocol.QuestionExtended
	readData(t, f, &extension)
	q := c.asked[len(c.asked)-1]
	if extension.Question != q.Question || extension.ClosesAt <= q.ClosesAt || extension.ClosesAt > f.ReceivedAt.UnixMilli()+2*outageDuels.TimeLimitMS {
		t.Errorf("at %d question %+v was extended to %+v", f.ReceivedAt.UnixMilli(), q, extension)
	}
}
