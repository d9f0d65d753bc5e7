package main

import (
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

// outageDuel asks questions that Redis sleeps through.
var outageDuel = duel{Questions: 3, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 500}

// Redis stalls for 5 s, over an open question that nobody has answered, or
// before a question opens. Players are told to try again; then they have the
// time to answer after all, and it counts as at most the limit.
func TestTimeLostToRedisIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"open", "reveal"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			server := testenv.Redis(t)
			h := newHouse(t, server.URL, duelsOf(map[string]duel{"demo": outageDuel}))
			here, there := h.node(t), h.node(t)
			d := meet(t, stranger(t, here.url, "demo"), stranger(t, there.url, "demo")).begun(t)
			d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
			if when == "reveal" {
				d.each(func(c *contestant) { c.reply(t, true) })
				d.each(func(c *contestant) { c.until(t, protocol.TypeQuestionClosed) })
			}
			stall(t, server, d)
			d.each(func(c *contestant) { c.awaitTime(t, when) })
			d.each(func(c *contestant) { c.reply(t, true) })
			playOn(t, d[:]...)
			sameFeed(t, d[:]...)
			d.each(func(c *contestant) { c.checkCapped(t) })
			settledOnce(t, here.url, "demo", d[0].over)
		})
	}
}

// stall keeps Redis from answering for 5 s, in which players ask in vain.
func stall(t *testing.T, server *testenv.Server, d duelling) {
	t.Helper()
	server.Pause()
	wake := time.After(5 * time.Second)
	var asked [2]int64
	for i, c := range d {
		asked[i], _ = c.Send(protocol.TypeMatchSync, protocol.Resume{Match: c.match, Seq: c.seq})
	}
	for i, c := range d {
		refused := failure(t, c.replyTo(t, asked[i]))
		if refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS <= 0 {
			t.Errorf("while Redis stalls a request gets %+v", refused)
		}
		delete(c.refused, 0)
	}
	<-wake
	server.Resume()
}

// awaitTime waits until there is time to answer: more of it for a question that
// was open, the whole of it, or more, for one that opens late.
func (c *contestant) awaitTime(t *testing.T, when string) {
	t.Helper()
	f := c.await(t, "time to answer", func(f player.Frame) bool {
		if f.Type == protocol.TypeQuestion && when == "reveal" {
			return c.asked[len(c.asked)-1].ClosesAt > f.Came.UnixMilli()
		}
		return f.Type == protocol.TypeQuestionExtended
	})
	if f.Type != protocol.TypeQuestionExtended {
		return
	}
	var given protocol.QuestionExtended
	read(t, f, &given)
	q := c.asked[len(c.asked)-1]
	if given.Question != q.Question || given.ClosesAt <= q.ClosesAt || given.ClosesAt > f.Came.UnixMilli()+2*outageDuel.TimeLimitMS {
		t.Errorf("at %d question %+v was extended to %+v", f.Came.UnixMilli(), q, given)
	}
}

// checkCapped holds that no answer was taken for slower than the limit allows.
func (c *contestant) checkCapped(t *testing.T) {
	t.Helper()
	limit := outageDuel.TimeLimitMS
	scores, times := map[string]int64{}, map[string]int64{}
	for _, closed := range c.closed {
		for _, r := range closed.Results {
			took, points := limit, int64(0)
			if r.Correct {
				took = min(*r.ElapsedMS, limit)
				points = 100 + 100*(limit-took)/limit
			}
			scores[r.Player] += points
			times[r.Player] += took
			if r.Points != points || r.Given == nil {
				t.Errorf("question %d: %+v, want %d points", closed.Question, r, points)
			}
		}
	}
	for _, s := range c.over.Standings {
		if s.Score != scores[s.Player] || s.TimeMS != times[s.Player] {
			t.Errorf("%+v, want the score %d and %d ms", s, scores[s.Player], times[s.Player])
		}
	}
}
