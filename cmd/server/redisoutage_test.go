package main

import (
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/client"
)

// outageDuels has questions that are shorter than the outage of Redis.
var outageDuels = duelConfig{Questions: 3, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 500}

// Redis stalls for 5 s, during an open question without an answer, or before a question opens.
// The server asks players to retry. Then they still have time to answer, and the time of an
// answer counts as at most the limit.
func TestQuestionsAreExtendedByRedisStalls(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"open", "reveal"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			server := testenv.Redis(t)
			h := newTestCluster(t, server.URL, duelsConfig(map[string]duelConfig{"demo": outageDuels}))
			first, second := h.node(t), h.node(t)
			rules := &checker.Checker{LimitMS: outageDuels.TimeLimitMS} // an answer counts as at most the limit
			clients := []*matchClient{newDuelClient(t, first.url, "demo"), newDuelClient(t, second.url, "demo")}
			follow(rules, clients)
			d := pairUp(t, clients[0], clients[1]).waitForMatch(t)
			d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
			if when == "reveal" {
				d.each(func(c *matchClient) { c.submitAndRead(t, true) })
				d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionClosed) })
			}
			stallRedis(t, server, d)
			d.each(func(c *matchClient) { c.waitUntilAnswer(t, when) })
			d.each(func(c *matchClient) { c.submitAndRead(t, true) })
			playToEnd(t, d[:]...)
			checkSamePushes(t, d[:]...)
			judge(t, rules)
			checkSettledOnce(t, first.url, "demo", d[0].over)
		})
	}
}

// stallRedis suspends Redis for 5 s, during which requests of players fail.
func stallRedis(t *testing.T, server *testenv.Server, d duelPair) {
	t.Helper()
	server.Pause()
	wake := time.After(5 * time.Second)
	var asked [2]int64
	for i, c := range d {
		asked[i], _ = c.Send(protocol.TypeMatchSync, protocol.Resume{Match: c.match, Seq: c.seq})
	}
	for i, c := range d {
		refused := decodeError(t, c.readReplyTo(t, asked[i]))
		if refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS <= 0 {
			t.Errorf("while Redis stalls a request gets %+v", refused)
		}
		delete(c.refused, 0)
	}
	<-wake
	server.Resume()
}

// waitForTimeToAnswer waits until there is time to answer. A question that was open is extended. A
// question that opens late has at least its whole time.
func (c *matchClient) waitUntilAnswer(t *testing.T, when string) {
	t.Helper()
	f := c.readUntil(t, "time to answer", func(f player.Frame) bool {
		if f.Type == protocol.TypeQuestion && when == "reveal" {
			return c.asked[len(c.asked)-1].ClosesAt > f.ReceivedAt.UnixMilli()
		}
		return f.Type == protocol.TypeQuestionExtended
	})
	if f.Type != protocol.TypeQuestionExtended {
		return
	}
	var allowance protocol.QuestionExtended
	readData(t, f, &allowance)
	q := c.asked[len(c.asked)-1]
	if allowance.Question != q.Question || allowance.ClosesAt <= q.ClosesAt || allowance.ClosesAt > f.ReceivedAt.UnixMilli()+2*outageDuels.TimeLimitMS {
		t.Errorf("at %d question %+v was extended to %+v", f.ReceivedAt.UnixMilli(), q, allowance)
	}
}
