package main

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

const (
	// mostLate is what the contract grants, and what a busy machine is granted here.
	mostLate  = 3 * time.Second
	grantLate = 10 * time.Second
)

// killDuels are the duels of the games of TestANodeIsKilled, each with the time
// that its players need up to the kill, and little more.
var killDuels = map[string]duel{
	"countdown": {Questions: 2, TimeLimitMS: 3000, CountdownMS: 2500, RevealMS: 300},
	"open":      {Questions: 2, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 300},
	"closing":   {Questions: 2, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 300},
	"reveal":    {Questions: 2, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 2000},
	"alone":     {Questions: 1, TimeLimitMS: 3000, CountdownMS: 500, RevealMS: 300},
}

// A node is killed in each phase of the matches that it shares with another:
// players there get the next step in time and nothing twice, those who were cut
// off come back there, and every match ends and counts.
func TestANodeIsKilled(t *testing.T) {
	t.Parallel()
	h := newHouse(t, testenv.ClusterOf(t, 3, 0).URL, duelsOf(killDuels))
	survivor := h.node(t)
	for phase, bring := range map[string]func(*testing.T, duelling) step{
		"countdown": toCountdown, "open": toOpen, "closing": toClosing, "reveal": toReveal,
	} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			doomed := h.process(t)
			var all []*contestant
			var duels []duelling
			for range 2 {
				d := meet(t, stranger(t, doomed.url, phase), stranger(t, survivor.url, phase))
				duels, all = append(duels, d), append(all, d[:]...)
			}
			next := make([]step, len(duels))
			for i, d := range duels {
				next[i] = bring(t, d.begun(t))
			}
			doomed.signal(syscall.SIGKILL)
			for i, d := range duels {
				next[i].await(t, d[1])
				d[0].comeBack(t, survivor.url)
				d.each(func(c *contestant) { c.wait = true })
			}
			playOn(t, all...)
			for _, d := range duels {
				sameFeed(t, d[:]...)
				settledOnce(t, survivor.url, phase, d[0].over)
			}
		})
	}
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		killedAlone(t, h, survivor)
	})
}

// step is the push that is due next, and when.
type step struct {
	kind string
	due  int64 // epoch ms; the clock of Redis is this machine's
}

func (s step) await(t *testing.T, c *contestant) {
	t.Helper()
	late := time.Duration(c.until(t, s.kind).Came.UnixMilli()-s.due) * time.Millisecond
	t.Logf("%s is late by %s", s.kind, late)
	if late > grantLate {
		t.Errorf("%s was late by %s; the contract says %s", s.kind, late, mostLate)
	}
}

func toCountdown(_ *testing.T, d duelling) step {
	return step{protocol.TypeQuestion, d[1].found.StartsAt}
}

// toOpen leaves a question open that one has answered, and the other will not.
func toOpen(t *testing.T, d duelling) step {
	t.Helper()
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
	d[1].reply(t, true)
	return step{protocol.TypeQuestionClosed, d[1].asked[0].ClosesAt}
}

// toClosing has the node die over the last answer: it may have been taken or not.
func toClosing(t *testing.T, d duelling) step {
	t.Helper()
	due := toOpen(t, d)
	d[0].submit(t, true)
	return due
}

func toReveal(t *testing.T, d duelling) step {
	t.Helper()
	toClosing(t, d)
	d[0].until(t, protocol.TypeQuestionClosed)
	closed := d[1].until(t, protocol.TypeQuestionClosed)
	return step{protocol.TypeQuestion, closed.Came.UnixMilli() + killDuels["reveal"].RevealMS}
}

// killedAlone has both players at the node that is killed, and none come back
// before the end: another node, which knew nothing of the match, plays it out.
func killedAlone(t *testing.T, h house, survivor *running) {
	t.Helper()
	doomed := h.process(t)
	d := meet(t, stranger(t, doomed.url, "alone"), stranger(t, doomed.url, "alone")).begun(t)
	last := toOpen(t, d)
	doomed.signal(syscall.SIGKILL)
	var kept struct {
		OverAt int64 `json:"over_at"`
	}
	eventually(t, "the match is in the ledger", func() bool {
		return get(t, survivor.url+"/v1/games/alone/matches/"+d[0].match, &kept) == http.StatusOK
	})
	late := time.Duration(kept.OverAt-last.due-killDuels["alone"].RevealMS) * time.Millisecond
	t.Logf("the end is late by %s", late)
	if late > 2*grantLate { // of two steps
		t.Errorf("the end was late by %s", late)
	}
	d.each(func(c *contestant) { c.comeBack(t, survivor.url) })
	playOn(t, d[:]...)
	sameFeed(t, d[:]...)
	settledOnce(t, survivor.url, "alone", d[0].over)
}
