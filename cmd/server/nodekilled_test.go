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
	// maxLateness is what the contract grants, and what a busy machine is granted here.
	maxLateness           = 3 * time.Second
	maxLatenessAfterGrant = 10 * time.Second
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
	h := newTestCluster(t, testenv.ClusterOf(t, 3, 0).URL, duelsOf(killDuels))
	survivor := h.node(t)
	for phase, advance := range map[string]func(*testing.T, duelPair) step{
		"countdown": advanceToCountdown, "open": advanceToOpen, "closing": advanceToClosing, "reveal": advanceToReveal,
	} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			victim := h.process(t)
			var all []*matchClient
			var duels []duelPair
			for range 2 {
				d := pairUp(t, newDuelClient(t, victim.url, phase), newDuelClient(t, survivor.url, phase))
				duels, all = append(duels, d), append(all, d[:]...)
			}
			next := make([]step, len(duels))
			for i, d := range duels {
				next[i] = advance(t, d.waitForMatch(t))
			}
			victim.signal(syscall.SIGKILL)
			for i, d := range duels {
				next[i].waitForStep(t, d[1])
				d[0].reconnect(t, survivor.url)
				d.each(func(c *matchClient) { c.waitForSettled = true })
			}
			playToEnd(t, all...)
			for _, d := range duels {
				checkSamePushes(t, d[:]...)
				checkSettledOnce(t, survivor.url, phase, d[0].over)
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
	pushType string
	due      int64 // epoch ms; the clock of Redis is this machine's
}

func (s step) waitForStep(t *testing.T, c *matchClient) {
	t.Helper()
	late := time.Duration(c.readUntilPush(t, s.pushType).Came.UnixMilli()-s.due) * time.Millisecond
	t.Logf("%s is late by %s", s.pushType, late)
	if late > maxLatenessAfterGrant {
		t.Errorf("%s was late by %s; the contract says %s", s.pushType, late, maxLateness)
	}
}

func advanceToCountdown(_ *testing.T, d duelPair) step {
	return step{protocol.TypeQuestion, d[1].found.StartsAt}
}

// advanceToOpen leaves a question open that one has answered, and the other will not.
func advanceToOpen(t *testing.T, d duelPair) step {
	t.Helper()
	d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	d[1].submitAndRead(t, true)
	return step{protocol.TypeQuestionClosed, d[1].asked[0].ClosesAt}
}

// advanceToClosing has the node die over the last answer: it may have been taken or not.
func advanceToClosing(t *testing.T, d duelPair) step {
	t.Helper()
	due := advanceToOpen(t, d)
	d[0].submit(t, true)
	return due
}

func advanceToReveal(t *testing.T, d duelPair) step {
	t.Helper()
	advanceToClosing(t, d)
	d[0].readUntilPush(t, protocol.TypeQuestionClosed)
	closeQuestion := d[1].readUntilPush(t, protocol.TypeQuestionClosed)
	return step{protocol.TypeQuestion, closeQuestion.Came.UnixMilli() + killDuels["reveal"].RevealMS}
}

// killedAlone has both players at the node that is killed, and none come back
// before the end: another node, which knew nothing of the match, plays it out.
func killedAlone(t *testing.T, h testCluster, survivor *testNode) {
	t.Helper()
	victim := h.process(t)
	d := pairUp(t, newDuelClient(t, victim.url, "alone"), newDuelClient(t, victim.url, "alone")).waitForMatch(t)
	last := advanceToOpen(t, d)
	victim.signal(syscall.SIGKILL)
	var kept struct {
		OverAt int64 `json:"over_at"`
	}
	waitUntil(t, "the match is in the ledger", func() bool {
		return get(t, survivor.url+"/v1/games/alone/matches/"+d[0].match, &kept) == http.StatusOK
	})
	late := time.Duration(kept.OverAt-last.due-killDuels["alone"].RevealMS) * time.Millisecond
	t.Logf("the end is late by %s", late)
	if late > 2*maxLatenessAfterGrant { // of two steps
		t.Errorf("the end was late by %s", late)
	}
	d.each(func(c *matchClient) { c.reconnect(t, survivor.url) })
	playToEnd(t, d[:]...)
	checkSamePushes(t, d[:]...)
	checkSettledOnce(t, survivor.url, "alone", d[0].over)
}
